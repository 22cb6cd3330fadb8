// What a Hugging Face directory's model computes here, for tests/parity/logits_parity.py.
//
//   rollout_model_logits DIRECTORY TOKENS trainer|prefill|steps OUT   logits of all tokens, fp32
//   rollout_model_logits DIRECTORY TOKENS greedy:COUNT OUT            the likeliest next tokens,
//   int32 rollout_model_logits DIRECTORY TOKENS save OUT                    the model as a
//   directory again
//
// TOKENS is a text file of token ids. trainer: the packed forward pass of training; prefill and
// steps: the engine's, all tokens in one call and each in a call of its own.

#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/transformer.hpp"

#include "physarum/rollout/decode_engine.hpp"

#include "rollout/sequence_blocks.hpp"

namespace physarum::rollout {
namespace {

template <class T>
void write(const std::string& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file.flush()) throw base::UserError("cannot be written", path, "check the path");
}

std::vector<base::TokenId> read_tokens(const std::string& path) {
  std::ifstream file(path);
  std::vector<base::TokenId> tokens;
  for (base::TokenId id = 0; file >> id;) tokens.push_back(id);
  if (tokens.empty()) throw base::UserError("holds no token ids", path, "give at least one");
  return tokens;
}

std::vector<float> trainer_logits(const model::ModelConfig& config, model::ParameterStore& store,
                                  std::span<const base::TokenId> tokens) {
  model::PackedBatch batch;
  batch.append(tokens, 1);
  model::Transformer transformer(config, store);
  return transformer.logits(batch);
}

std::vector<base::TokenId> likeliest(const model::ModelConfig& config, const weights::Image& image,
                                     std::vector<base::TokenId> prompt, std::int64_t count) {
  const auto context = static_cast<std::int64_t>(prompt.size()) + count;
  DecodeEngine engine(config, {.context_tokens = context}, 1);
  engine.set_weights(image, PauseGenerationMode::retract);
  sample::SamplingOptions sampling;
  sampling.temperature = 0;
  sampling.max_response_tokens = count;
  sampling.max_context_tokens = context;
  engine.add({.prompt = std::move(prompt),
              .first_sample = base::SampleId(0),
              .n_samples = 1,
              .sampling = sampling});
  while (true) {
    auto answers = engine.step();
    if (!answers.empty()) return answers.front().response;
  }
}

void run(const std::string& directory, const std::string& tokens_path, const std::string& what,
         const std::string& out) {
  const auto config = model::ModelConfig::from_file(directory + "/config.json");
  model::ParameterStore store(config, model::Gradients::none);
  model::load_weights(directory, config, store.values());
  const auto tokens = read_tokens(tokens_path);
  if (what == "save") {
    return model::save_hf(storage::real_file_system(), out, config, store.values());
  }
  if (what == "trainer") return write(out, trainer_logits(config, store, tokens));
  const auto image = image_of(config, store);
  if (what.starts_with("greedy:")) {
    return write(out, likeliest(config, image, tokens, std::stol(what.substr(7))));
  }
  EngineWeights weights(config);
  weights.load(image);
  const auto count = static_cast<std::int64_t>(tokens.size());
  write(out, decode_in_steps(config, weights, tokens, what == "steps" ? 1 : count));
}

}  // namespace
}  // namespace physarum::rollout

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s DIRECTORY TOKENS trainer|prefill|steps|greedy:COUNT|save OUT\n",
                 arguments[0]);
    return 2;
  }
  try {
    physarum::rollout::run(arguments[1], arguments[2], arguments[3], arguments[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
