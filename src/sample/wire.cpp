#include "physarum/sample/wire.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire_checks.hpp"

namespace physarum::sample {

using base::ByteReader;
using base::ByteWriter;

void write(ByteWriter& out, const SamplingOptions& options) {
  out.put(options.temperature);
  out.put(options.top_k);
  out.put(options.top_p);
  out.put(options.min_p);
  out.put(options.nucleus_limit);
  out.put(options.top_log_probs);
  out.put(options.repetition_penalty);
  out.put(options.presence_penalty);
  out.put(options.frequency_penalty);
  out.put(options.min_response_tokens);
  out.put(options.max_response_tokens);
  out.put(options.max_context_tokens);
  out.put_vector(options.stop_token_ids);
  out.put<std::uint64_t>(options.stop_strings.size());
  for (const auto& string : options.stop_strings) out.put_string(string);
}

namespace {
std::vector<std::string> read_stop_strings(ByteReader& in) {
  const auto count = read_count(in, sizeof(std::uint64_t));
  require(count <= most_stop_strings, "there are too many stop strings");
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < count; ++i) {
    strings.push_back(in.get_string());
    require(!strings.back().empty() && strings.back().size() <= most_stop_string_bytes,
            "a stop string is empty or too long");
  }
  return strings;
}
}  // namespace

SamplingOptions read_sampling_options(ByteReader& in) {
  SamplingOptions options;
  options.temperature = in.get<double>();
  options.top_k = in.get<std::int64_t>();
  options.top_p = in.get<double>();
  options.min_p = in.get<double>();
  options.nucleus_limit = in.get<std::int64_t>();
  options.top_log_probs = in.get<std::int64_t>();
  options.repetition_penalty = in.get<double>();
  options.presence_penalty = in.get<double>();
  options.frequency_penalty = in.get<double>();
  options.min_response_tokens = in.get<std::int64_t>();
  options.max_response_tokens = in.get<std::int64_t>();
  options.max_context_tokens = in.get<std::int64_t>();
  options.stop_token_ids = in.get_vector<TokenId>();
  options.stop_strings = read_stop_strings(in);
  require(std::isfinite(options.temperature) && options.temperature >= 0,
          "the temperature is negative");
  require(options.top_p > 0 && options.top_p <= 1, "top-p is not in (0, 1]");
  require(options.min_p >= 0 && options.min_p <= 1, "min-p is not in [0, 1]");
  require(options.nucleus_limit >= 0, "a limit of recorded tokens is negative");
  require(options.top_log_probs >= 0 && options.top_log_probs <= most_top_log_probs,
          "the number of top log-probs is negative or too large");
  require(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0,
          "the repetition penalty is not above 0");
  require(std::isfinite(options.presence_penalty) && std::isfinite(options.frequency_penalty),
          "a penalty is not finite");
  require(options.min_response_tokens >= 0 && options.max_response_tokens >= 0 &&
              options.max_context_tokens >= 0,
          "a length limit is negative");
  require(std::ranges::all_of(options.stop_token_ids, [](TokenId id) { return id >= 0; }),
          "a stop token is negative");
  return options;
}

void write(ByteWriter& out, const Prompt& prompt) {
  out.put(prompt.id);
  out.put_string(prompt.text);
  out.put_string(prompt.messages);
  out.put_string(prompt.tools);
  out.put_string(prompt.label);
  out.put_string(prompt.metadata);
  out.put_string(prompt.environment);
}

Prompt read_prompt(ByteReader& in) {
  Prompt prompt;
  prompt.id = in.get<PromptId>();
  prompt.text = in.get_string();
  prompt.messages = in.get_string();
  prompt.tools = in.get_string();
  prompt.label = in.get_string();
  prompt.metadata = in.get_string();
  prompt.environment = in.get_string();
  require(prompt.id.valid(), "a prompt has no id");
  return prompt;
}

void write(ByteWriter& out, const Lease& lease) {
  out.put(lease.id);
  out.put(lease.group);
  out.put(lease.purpose);
  write(out, lease.prompt);
  out.put(lease.n_samples);
  out.put(lease.first_sample);
  out.put(lease.version);
  out.put(lease.rule);
  out.put(lease.deadline_s);
  write(out, lease.sampling);
  out.put(lease.owner);
  out.put_vector(lease.history);
  out.put<std::uint64_t>(lease.begun.size());
  for (const auto& sample : lease.begun) write(out, sample);
}

namespace {
/// All samples of the lease's group or none; some of them unfinished.
std::vector<Sample> read_begun(ByteReader& in, const Lease& lease) {
  SampleGroup group{lease.group, lease.prompt.id, lease.purpose, {}, {}};
  const std::size_t count = read_count(in, least_sample_bytes);
  for (std::size_t i = 0; i < count; ++i) group.samples.push_back(read_sample(in));
  if (count == 0) return {};
  group.lease = group.samples.front().lease;
  if (const auto fault = find_fault(group)) throw base::MalformedBytes(*fault);
  require(std::cmp_equal(count, lease.n_samples) &&
              group.samples.front().id == lease.first_sample && group.has_aborted(),
          "what was begun is not what is lent");
  return std::move(group.samples);
}
}  // namespace

Lease read_lease(ByteReader& in) {
  Lease lease;
  lease.id = in.get<LeaseId>();
  lease.group = in.get<GroupId>();
  lease.purpose = read_enum(in, Purpose::supervised);
  lease.prompt = read_prompt(in);
  lease.n_samples = in.get<std::int64_t>();
  lease.first_sample = in.get<SampleId>();
  lease.version = in.get<WeightVersion>();
  lease.rule = read_enum(in, VersionRule::exactly);
  lease.deadline_s = in.get<double>();
  lease.sampling = read_sampling_options(in);
  lease.owner = in.get<int>();
  lease.history = in.get_vector<LeaseId>();
  require(lease.id.valid() && lease.group.valid() && lease.first_sample.valid(),
          "a lease has no id");
  require(lease.n_samples > 0 && lease.n_samples <= (std::int64_t{1} << 31),
          "a lease asks for no or too many samples");
  require(lease.deadline_s > 0, "a lease has no deadline");
  require(lease.owner >= 0, "a lease has no owner");
  lease.begun = read_begun(in, lease);
  return lease;
}

namespace {

void write(ByteWriter& out, const Evidence& evidence) {
  out.put_string(evidence.verifier);
  out.put(evidence.verifier_version);
  out.put(evidence.input_hash);
  out.put_string(evidence.verdict);
  out.put(evidence.seconds);
}

Evidence read_evidence(ByteReader& in) {
  Evidence evidence;
  evidence.verifier = in.get_string();
  evidence.verifier_version = in.get<std::int64_t>();
  evidence.input_hash = in.get<std::uint64_t>();
  evidence.verdict = in.get_string();
  evidence.seconds = in.get<double>();
  return evidence;
}

}  // namespace

void write(ByteWriter& out, const Sample& sample) {
  out.put(sample.id);
  out.put(sample.group);
  out.put(sample.prompt);
  out.put(sample.lease);
  out.put(sample.index_in_group);
  out.put(sample.prompt_tokens);
  out.put_vector(sample.tokens);
  out.put_vector(sample.log_probs);
  out.put_vector(sample.nuclei.ids);
  out.put_vector(sample.nuclei.ends);
  out.put_vector(sample.top_log_probs.ids);
  out.put_vector(sample.top_log_probs.log_probs);
  out.put_vector(sample.mask);
  out.put_vector(sample.versions);
  out.put(sample.reward);
  out.put(sample.status);
  out.put<std::uint8_t>(sample.removed ? 1 : 0);
  out.put_string(sample.response);
  out.put_string(sample.label);
  write(out, sample.evidence);
  out.put(sample.generation_s);
  out.put_vector(sample.lease_history);
}

Sample read_sample(ByteReader& in) {
  Sample sample;
  sample.id = in.get<SampleId>();
  sample.group = in.get<GroupId>();
  sample.prompt = in.get<PromptId>();
  sample.lease = in.get<LeaseId>();
  sample.index_in_group = in.get<std::int64_t>();
  sample.prompt_tokens = in.get<std::int64_t>();
  sample.tokens = in.get_vector<TokenId>();
  sample.log_probs = in.get_vector<float>();
  sample.nuclei.ids = in.get_vector<TokenId>();
  sample.nuclei.ends = in.get_vector<std::int64_t>();
  sample.top_log_probs.ids = in.get_vector<TokenId>();
  sample.top_log_probs.log_probs = in.get_vector<float>();
  sample.mask = in.get_vector<std::uint8_t>();
  sample.versions = in.get_vector<VersionRun>();
  sample.reward = in.get<double>();
  sample.status = read_enum(in, SampleStatus::failed);
  sample.removed = read_flag(in);
  sample.response = in.get_string();
  sample.label = in.get_string();
  sample.evidence = read_evidence(in);
  sample.generation_s = in.get<double>();
  sample.lease_history = in.get_vector<LeaseId>();
  require(sample.prompt_tokens >= 0 && sample.response_tokens() >= 0,
          "a sample's prompt is longer than its tokens");
  require(sample.nuclei.fits_together(), "the ends of a sample's nuclei do not fit their ids");
  return sample;
}

void write(ByteWriter& out, const SampleGroup& group) {
  out.put(group.id);
  out.put(group.prompt);
  out.put(group.purpose);
  out.put(group.lease);
  out.put<std::uint64_t>(group.samples.size());
  for (const auto& sample : group.samples) write(out, sample);
}

SampleGroup read_sample_group(ByteReader& in) {
  SampleGroup group;
  group.id = in.get<GroupId>();
  group.prompt = in.get<PromptId>();
  group.purpose = read_enum(in, Purpose::supervised);
  group.lease = in.get<LeaseId>();
  const std::size_t count = read_count(in, least_sample_bytes);
  group.samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) group.samples.push_back(read_sample(in));
  if (const auto fault = find_fault(group)) throw base::MalformedBytes(*fault);
  return group;
}

}  // namespace physarum::sample
