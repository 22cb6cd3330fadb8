#include "engine_setup.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>

#include "physarum/base/error.hpp"

#include "physarum/weights/image.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_store.hpp"

namespace physarum::rollout {

namespace {
std::int64_t to_number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw base::UserError("takes a whole number, not '" + text + "'", name, "give one");
  }
  return value;
}

std::vector<std::int64_t> to_falling(const std::string& name, const std::string& text) {
  std::vector<std::int64_t> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) values.push_back(to_number(name, part));
  if (values.empty() || values.back() < 1 ||
      std::adjacent_find(values.begin(), values.end(), std::less_equal<>()) != values.end()) {
    throw base::UserError("takes falling numbers", name, "for example 64,32,8,1");
  }
  return values;
}

weights::Image load_image(const std::string& directory, const model::ModelConfig& config,
                          weights::TransferType type) {
  model::ParameterStore store(config, model::Gradients::none);
  model::load_weights(directory, config, store.values());
  weights::Image image(weights::make_catalogue(model::tensor_specs(config), type));
  image.assign(store.values());
  image.set_version(base::WeightVersion(0));
  return image;
}
}  // namespace

FigureOptions read_options(int count, char** arguments) {
  if (count < 3 || count % 2 == 0) {
    throw base::UserError("wants MODEL MODE [--NAME VALUE]...", "engine_figures",
                          "benchmarks/rollout/README.md lists them");
  }
  FigureOptions options;
  options.model = arguments[1];
  options.mode = arguments[2];
  const std::map<std::string_view, std::int64_t*> numbers{
      {"--threads", &options.threads},   {"--context", &options.context},
      {"--tokens", &options.tokens},     {"--prompts", &options.prompts},
      {"--distinct", &options.distinct}, {"--repeats", &options.repeats},
      {"--requests", &options.requests}, {"--kv-cache-bytes", &options.kv_cache_bytes}};
  options.parallel = {64, 32, 8, 1};
  for (int i = 3; i < count; i += 2) {
    const std::string name = arguments[i];
    const std::string value = arguments[i + 1];
    if (name == "--parallel") {
      options.parallel = to_falling(name, value);
    } else if (name == "--storage" && (value == "f32" || value == "bf16")) {
      options.storage = value;
    } else if (name == "--temperature") {
      options.temperature = static_cast<double>(to_number(name, value));
    } else if (const auto found = numbers.find(name); found != numbers.end()) {
      *found->second = to_number(name, value);
    } else {
      throw base::UserError("is no option", name, "benchmarks/rollout/README.md lists them");
    }
  }
  return options;
}

LoadedEngine load_engine(const FigureOptions& options, EngineLimits limits) {
  limits.threads = static_cast<int>(options.threads);
  auto config = model::read_hf_config(options.model);
  LoadedEngine loaded{config, DecodeEngine(config, limits, 1)};
  loaded.engine.set_weights(load_engine_image(options, config), PauseGenerationMode::retract);
  return loaded;
}

weights::Image load_engine_image(const FigureOptions& options, const model::ModelConfig& config) {
  return load_image(
      options.model, config,
      options.storage == "bf16" ? weights::TransferType::bf16 : weights::TransferType::f32);
}

std::vector<base::TokenId> make_prompt(std::int64_t index, std::int64_t tokens,
                                       std::int64_t vocab_size) {
  // The first ids of a vocabulary are often special tokens.
  constexpr std::int64_t first = 100;
  std::vector<base::TokenId> prompt;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto mixed = (index + 1) * 7919 + t * 104729 + t * t * 31;
    prompt.push_back(static_cast<base::TokenId>(first + mixed % (vocab_size - first)));
  }
  return prompt;
}

ModelWork work_of(const model::ModelConfig& c) {
  const auto attention = c.hidden_size * c.attention_width();
  const auto rest = c.hidden_size * (c.query_width() + 3 * c.intermediate_size);
  const auto head = c.hidden_size * c.vocab_size;
  const auto layers = c.num_hidden_layers * (attention + rest);
  return {.layers = 2.0 * static_cast<double>(layers),
          .last_outputs = 2.0 * static_cast<double>(rest),
          .head = 2.0 * static_cast<double>(head),
          .attended = 4.0 * static_cast<double>(c.num_hidden_layers * c.query_width()),
          .matrix_bytes = 4.0 * static_cast<double>(layers + head)};
}

}  // namespace physarum::rollout
