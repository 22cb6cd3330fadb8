#include "sample_columns.hpp"

#include <string>

namespace physarum::sample {

namespace {

/// One list of the columns for both directions: `visit(name, column)`. `self` decides on const.
void visit_plain(auto& self, auto&& visit) {
  visit("sample/id", self.id);
  visit("sample/group", self.group);
  visit("sample/prompt", self.prompt);
  visit("sample/lease", self.lease);
  visit("sample/index_in_group", self.index_in_group);
  visit("sample/prompt_tokens", self.prompt_tokens);
  visit("sample/reward", self.reward);
  visit("sample/generation_s", self.generation_s);
  visit("sample/status", self.status);
  visit("sample/removed", self.removed);
  visit("evidence/verifier_version", self.verifier_version);
  visit("evidence/input_hash", self.input_hash);
  visit("evidence/seconds", self.verification_s);
}

/// Files of format version 1 have none of them.
void visit_nuclei(auto& self, auto&& visit) {
  visit("nuclei/ids", self.nucleus_ids);
  visit("nuclei/sizes", self.nucleus_sizes);
}

/// Files of format versions 1 and 2 have none of them.
void visit_top(auto& self, auto&& visit) {
  visit("top_log_probs/ids", self.top_ids);
  visit("top_log_probs/log_probs", self.top_log_probs);
}

void visit_ragged(auto& self, auto&& visit) {
  visit("tokens", self.tokens);
  visit("log_probs", self.log_probs);
  visit("mask", self.mask);
  visit("versions/version", self.version);
  visit("versions/tokens", self.version_tokens);
  visit("lease_history", self.lease_history);
  visit("text/response", self.response);
  visit("text/label", self.label);
  visit("evidence/verifier", self.verifier);
  visit("evidence/verdict", self.verdict);
}

std::vector<std::int32_t> sizes_of(const base::TokenSets& sets) {
  std::vector<std::int32_t> sizes;
  for (std::int64_t i = 0; i < sets.size(); ++i)
    sizes.push_back(static_cast<std::int32_t>(sets.at(i).size()));
  return sizes;
}

base::TokenSets sets_of(std::span<const std::int32_t> ids, std::span<const std::int32_t> sizes) {
  base::TokenSets sets{{ids.begin(), ids.end()}, {}};
  std::int64_t end = 0;
  for (const std::int32_t size : sizes) sets.ends.push_back(end += size);
  return sets;
}

}  // namespace

void SampleColumns::append(const Sample& sample) {
  id.push_back(sample.id.value());
  group.push_back(sample.group.value());
  prompt.push_back(sample.prompt.value());
  lease.push_back(sample.lease.value());
  index_in_group.push_back(sample.index_in_group);
  prompt_tokens.push_back(sample.prompt_tokens);
  reward.push_back(sample.reward);
  generation_s.push_back(sample.generation_s);
  status.push_back(static_cast<std::uint8_t>(sample.status));
  removed.push_back(sample.removed ? 1 : 0);
  verifier_version.push_back(sample.evidence.verifier_version);
  input_hash.push_back(sample.evidence.input_hash);
  verification_s.push_back(sample.evidence.seconds);
  tokens.append(sample.tokens);
  log_probs.append(sample.log_probs);
  nucleus_ids.append(sample.nuclei.ids);
  nucleus_sizes.append(sizes_of(sample.nuclei));
  top_ids.append(sample.top_log_probs.ids);
  top_log_probs.append(sample.top_log_probs.log_probs);
  mask.append(sample.mask);
  std::vector<std::int64_t> versions, counts, leases;
  for (const auto& run : sample.versions) {
    versions.push_back(run.version.value());
    counts.push_back(run.tokens);
  }
  for (const auto& earlier : sample.lease_history) leases.push_back(earlier.value());
  version.append(versions);
  version_tokens.append(counts);
  lease_history.append(leases);
  response.append(as_row(sample.response));
  label.append(as_row(sample.label));
  verifier.append(as_row(sample.evidence.verifier));
  verdict.append(as_row(sample.evidence.verdict));
}

Sample SampleColumns::row(std::size_t index) const {
  const auto copy = [index](const auto& column) {
    const auto row = column.row(index);
    return std::vector(row.begin(), row.end());
  };
  Sample sample;
  sample.id = SampleId(id[index]);
  sample.group = GroupId(group[index]);
  sample.prompt = PromptId(prompt[index]);
  sample.lease = LeaseId(lease[index]);
  sample.index_in_group = index_in_group[index];
  sample.prompt_tokens = prompt_tokens[index];
  sample.reward = reward[index];
  sample.generation_s = generation_s[index];
  sample.status = static_cast<SampleStatus>(status[index]);
  sample.removed = removed[index] != 0;
  sample.tokens = copy(tokens);
  sample.log_probs = copy(log_probs);
  sample.nuclei = sets_of(nucleus_ids.row(index), nucleus_sizes.row(index));
  sample.top_log_probs = {copy(top_ids), copy(top_log_probs)};
  sample.mask = copy(mask);
  const auto versions = version.row(index), counts = version_tokens.row(index);
  for (std::size_t i = 0; i < versions.size() && i < counts.size(); ++i)
    sample.versions.push_back({WeightVersion(versions[i]), counts[i]});
  for (const std::int64_t earlier : lease_history.row(index))
    sample.lease_history.emplace_back(earlier);
  sample.response = as_text(response.row(index));
  sample.label = as_text(label.row(index));
  sample.evidence = {as_text(verifier.row(index)), verifier_version[index], input_hash[index],
                     as_text(verdict.row(index)), verification_s[index]};
  return sample;
}

void SampleColumns::write(storage::File& file, const std::string& prefix) const {
  visit_plain(*this, [&]<class T>(const std::string& name, const std::vector<T>& column) {
    file.write_concatenated(prefix + name, std::span<const T>(column));
  });
  const auto write_rows = [&](const std::string& name, const auto& column) {
    write_ragged(file, prefix + name, column);
  };
  visit_ragged(*this, write_rows);
  visit_nuclei(*this, write_rows);
  visit_top(*this, write_rows);
}

SampleColumns SampleColumns::read(const storage::File& file, const std::string& prefix) {
  SampleColumns columns;
  columns.id = file.read_dataset<std::int64_t>(prefix + "sample/id");
  const std::size_t rows = columns.id.size();
  visit_plain(columns, [&]<class T>(const std::string& name, std::vector<T>& column) {
    column = file.read_dataset<T>(prefix + name, storage::Extent{rows});
  });
  const auto read_rows = [&]<class T>(const std::string& name, Ragged<T>& column) {
    column = read_ragged<T>(file, prefix + name, rows);
  };
  visit_ragged(columns, read_rows);
  // What a file of an earlier version does not have is empty in every row.
  const auto no_rows = [rows](const std::string&, auto& column) { column.ends.resize(rows); };
  if (file.contains(prefix + "nuclei")) {
    visit_nuclei(columns, read_rows);
  } else {
    visit_nuclei(columns, no_rows);
  }
  if (file.contains(prefix + "top_log_probs")) {
    visit_top(columns, read_rows);
  } else {
    visit_top(columns, no_rows);
  }
  return columns;
}

}  // namespace physarum::sample
