#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/model/weight_source.hpp"

#include "name_some.hpp"

namespace physarum::model {

namespace {

/// Read at once; so much of the file is in memory beside what is made from it.
constexpr std::int64_t piece_elements = std::int64_t{1} << 20;

/// Tensors that some exports carry and that hold no parameter of ours.
bool is_ignored(const std::string& name, const ModelConfig& config) {
  return name.ends_with("rotary_emb.inv_freq") ||
         (config.tie_word_embeddings && name == "lm_head.weight");
}

void refuse_strangers(const WeightSource& source, const ModelConfig& config,
                      const ParameterLayout& layout) {
  std::vector<std::string> strangers;
  for (const auto& tensor : source.tensors()) {
    if (layout.find(tensor.name) < 0 && !is_ignored(tensor.name, config)) {
      strangers.push_back(tensor.name);
    }
  }
  if (strangers.empty()) return;
  throw base::UserError("tensors that config.json does not explain: " + name_some(strangers),
                        source.where(), "give weights and config.json of the same model");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

/// The part of a tensor that lies in `range`; both count in the flat buffer.
weights::Range part_in(const TensorPlace& place, weights::Range range) {
  return {std::max(place.offset, range.begin), std::min(place.offset + place.size, range.end)};
}

}  // namespace

void check_weights(const WeightSource& source, const ModelConfig& config,
                   const ParameterLayout& layout) {
  refuse_strangers(source, config, layout);
  std::vector<std::string> missing;
  for (const auto& place : layout.tensors()) {
    const auto at = source.find(place.name);
    if (at < 0) {
      missing.push_back(place.name);
      continue;
    }
    const auto& shape = source.tensors()[static_cast<std::size_t>(at)].shape;
    if (shape == place.shape) continue;
    throw base::UserError("tensor '" + place.name + "' has shape " + shape_text(shape) +
                              ", config.json asks for " + shape_text(place.shape),
                          source.where(), "give weights and config.json of the same model");
  }
  if (missing.empty()) return;
  throw base::UserError("tensors are missing: " + name_some(missing), source.where(),
                        "give all of the model that config.json describes");
}

void load_weights(const WeightSource& source, const ModelConfig& config, weights::Range range,
                  std::span<float> out) {
  const ParameterLayout layout(config);
  base::expects(0 <= range.begin && range.begin <= range.end && range.end <= layout.total() &&
                    static_cast<std::int64_t>(out.size()) == range.size(),
                "the range lies in the flat buffer and has the destination's size");
  check_weights(source, config, layout);
  std::int64_t done = range.begin;
  const auto part_of_out = [&](std::int64_t begin, std::int64_t end) {
    return out.subspan(static_cast<std::size_t>(begin - range.begin),
                       static_cast<std::size_t>(end - begin));
  };
  for (const auto& place : layout.tensors()) {
    const auto part = part_in(place, range);
    if (part.begin >= part.end) continue;
    std::ranges::fill(part_of_out(done, part.begin), 0.0F);
    const auto tensor = source.find(place.name);
    for (done = part.begin; done < part.end;) {
      const std::int64_t next = std::min(done + piece_elements, part.end);
      source.read(tensor, done - place.offset, part_of_out(done, next));
      done = next;
    }
  }
  std::ranges::fill(part_of_out(done, range.end), 0.0F);
}

void load_weights(const std::filesystem::path& path, const ModelConfig& config,
                  std::span<float> flat) {
  const auto source = open_weights(path);
  load_weights(*source, config, {0, static_cast<std::int64_t>(flat.size())}, flat);
}

}  // namespace physarum::model
