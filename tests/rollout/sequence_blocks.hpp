#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/weights/image.hpp"

#include "physarum/model/parameter_store.hpp"

#include "block_pool.hpp"
#include "decoder.hpp"

namespace physarum::rollout {

/// One sequence with cache blocks for all its tokens.
class SequenceBlocks {
 public:
  SequenceBlocks(const model::CacheShape& shape, std::int64_t tokens)
      : pool_(shape.block_floats(), blocks_for(tokens) * shape.block_floats() *
                                        static_cast<std::int64_t>(sizeof(float))) {
    pool_.reserve(pool_.capacity());
    for (std::int64_t b = 0; b < blocks_for(tokens); ++b) blocks_.push_back(pool_.take());
  }
  [[nodiscard]] TokenRow row(base::TokenId token, std::int64_t position) const {
    return {token, position, blocks_.data()};
  }

 private:
  static std::int64_t blocks_for(std::int64_t tokens) {
    return (tokens + model::cache_block_tokens - 1) / model::cache_block_tokens;
  }
  BlockPool pool_;
  std::vector<float*> blocks_;
};

/// Logits [count, vocab] of all tokens, `step` tokens in each call.
inline std::vector<float> decode_in_steps(const model::ModelConfig& config,
                                          const EngineWeights& weights,
                                          std::span<const base::TokenId> tokens,
                                          std::int64_t step) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  Decoder decoder(config, count);
  const SequenceBlocks sequence(decoder.cache_shape(), count);
  std::vector<float> all;
  for (std::int64_t first = 0; first < count; first += step) {
    std::vector<TokenRow> rows;
    std::vector<std::int64_t> wanted;
    for (auto t = first; t < std::min(count, first + step); ++t) {
      wanted.push_back(static_cast<std::int64_t>(rows.size()));
      rows.push_back(sequence.row(tokens[static_cast<std::size_t>(t)], t));
    }
    decoder.forward(weights, rows, wanted);
    const auto rows_count = static_cast<std::int64_t>(rows.size());
    const float* logits = decoder.logits(weights, 0, rows_count);
    all.insert(all.end(), logits, logits + rows_count * config.vocab_size);
  }
  return all;
}

/// The weights of a store as an engine gets them, unrounded.
inline weights::Image image_of(const model::ModelConfig& config,
                               const model::ParameterStore& store) {
  weights::Image image(
      weights::make_catalogue(model::tensor_specs(config), weights::TransferType::f32));
  image.assign(store.values());
  image.set_version(base::WeightVersion(0));
  return image;
}

}  // namespace physarum::rollout
