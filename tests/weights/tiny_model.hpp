#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "physarum/weights/reshard_plan.hpp"

namespace physarum::weights::test {

/// What a tensor is, said by who makes it up: the plan has to find it out by the name.
enum class Role { whole, rows, columns, vocabulary, query, output, key_value, fused };

struct TinyTensor {
  TensorSpec spec;
  Role role;
  std::int64_t layer;  ///< -1: first stage, -2: last stage
  std::int64_t expert = -1;
};

/// A small model of random shape, and the slow truth of how it is split: element by element, with
/// loops. Each element's value is its own number.
class TinyModel {
 public:
  enum class Family { dense, fused, mixture, latent };

  TinyModel(Family family, std::mt19937_64& random) {
    const auto any = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    facts.layers = any(1, 5);
    facts.key_value_heads = any(1, 4);
    facts.attention_heads = facts.key_value_heads * any(1, 4);
    facts.experts = family == Family::mixture || family == Family::latent ? any(2, 7) : 0;
    facts.tied_head = any(0, 1) == 1;
    head = any(1, 5);
    hidden_ = any(1, 9);
    width_ = any(1, 13);
    vocabulary_ = any(3, 40);
    add("model.embed_tokens.weight", {vocabulary_, hidden_}, Role::vocabulary, -1);
    for (std::int64_t layer = 0; layer < facts.layers; ++layer) add_layer(family, layer);
    add("model.norm.weight", {hidden_}, Role::whole, -2);
    if (!facts.tied_head) {
      add("lm_head.weight", {vocabulary_, hidden_}, Role::vocabulary, -2);
    }
  }

  [[nodiscard]] CataloguePtr catalogue(TransferType type) const {
    std::vector<TensorSpec> specs;
    for (const auto& tensor : tensors) specs.push_back(tensor.spec);
    return make_catalogue(std::move(specs), type);
  }

  /// Rank `rank` of `ranks` has element (row, column) of the tensor.
  [[nodiscard]] bool has(const TinyTensor& tensor, std::int64_t row, std::int64_t column,
                         std::int64_t rank, std::int64_t ranks, std::int64_t multiple) const {
    const auto in_part = [&](std::int64_t index, std::int64_t extent) {
      return index >= extent * rank / ranks && index < extent * (rank + 1) / ranks;
    };
    const auto uses_key_value_head = [&](std::int64_t which) {
      const std::int64_t group = facts.attention_heads / facts.key_value_heads;
      for (std::int64_t query = 0; query < facts.attention_heads; ++query) {
        if (in_part(query, facts.attention_heads) && query / group == which) return true;
      }
      return false;
    };
    const std::int64_t rows = tensor.spec.shape[0];
    switch (tensor.role) {
      case Role::whole:
        return true;
      case Role::rows:
        return in_part(row, rows);
      case Role::columns:
        return in_part(column, tensor.spec.shape[1]);
      case Role::vocabulary:
        return row / vocabulary_rows(ranks, multiple) == rank;
      case Role::query:
        return in_part(row / (rows / facts.attention_heads), facts.attention_heads);
      case Role::output:
        return in_part(column / (tensor.spec.shape[1] / facts.attention_heads),
                       facts.attention_heads);
      case Role::key_value:
        return uses_key_value_head(row / head);
      case Role::fused: {
        if (tensor.spec.name.find("qkv") == std::string::npos) {
          return in_part(row % (rows / 2), rows / 2);
        }
        const std::int64_t at = row / head;
        if (at < facts.attention_heads) return in_part(at, facts.attention_heads);
        return uses_key_value_head((at - facts.attention_heads) % facts.key_value_heads);
      }
    }
    return false;
  }

  /// The elements of the tensor that a rank has, one after the other, and then the padding:
  /// numbers of elements, counted through the image from 1; 0 is padding.
  void append_share(const Catalogue& catalogue, std::size_t index, std::int64_t rank,
                    std::int64_t ranks, std::int64_t multiple,
                    std::vector<std::uint32_t>& shard) const {
    const TinyTensor& tensor = tensors[index];
    const std::int64_t rows = tensor.spec.shape[0];
    const std::int64_t columns = tensor.spec.shape.size() > 1 ? tensor.spec.shape[1] : 1;
    const std::int64_t first = catalogue.elements(static_cast<std::int64_t>(index)).begin;
    std::int64_t taken = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        if (!has(tensor, row, column, rank, ranks, multiple)) continue;
        shard.push_back(static_cast<std::uint32_t>(first + row * columns + column + 1));
        ++taken;
      }
    }
    if (tensor.role == Role::vocabulary) {
      const std::int64_t all = vocabulary_rows(ranks, multiple) * columns;
      shard.insert(shard.end(), static_cast<std::size_t>(all - taken), 0);
    }
    while (shard.size() % Catalogue::alignment_elements != 0) shard.push_back(0);
  }

  [[nodiscard]] std::vector<std::uint32_t> engine_shard(const Catalogue& catalogue,
                                                        const EngineGrid& grid,
                                                        std::int64_t rank) const {
    std::vector<std::uint32_t> shard;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      append_share(catalogue, i, rank, grid.tensor, grid.vocabulary_multiple, shard);
    }
    return shard;
  }

  [[nodiscard]] std::vector<std::uint32_t> trainer_shard(const Catalogue& catalogue,
                                                         const TrainerGrid& grid,
                                                         std::int64_t rank) const {
    const std::int64_t stage = rank / (grid.tensor * grid.data);
    const std::int64_t inside = rank % (grid.tensor * grid.data);
    std::vector<std::uint32_t> shard;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TinyTensor& tensor = tensors[i];
      if (!on_stage(tensor, stage, grid)) continue;
      if (tensor.expert < 0) {
        append_share(catalogue, i, inside % grid.tensor, grid.tensor, grid.vocabulary_multiple,
                     shard);
        continue;
      }
      const std::int64_t mine = inside / grid.expert_tensor % grid.expert;
      if (tensor.expert >= facts.experts * mine / grid.expert &&
          tensor.expert < facts.experts * (mine + 1) / grid.expert) {
        append_share(catalogue, i, inside % grid.expert_tensor, grid.expert_tensor,
                     grid.vocabulary_multiple, shard);
      }
    }
    return shard;
  }

  SplitFacts facts;
  std::int64_t head = 0;
  std::vector<TinyTensor> tensors;

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape, Role role, std::int64_t layer,
           std::int64_t expert = -1) {
    tensors.push_back({{name, std::move(shape)}, role, layer, expert});
  }

  void add_layer(Family family, std::int64_t layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    const std::int64_t query = facts.attention_heads * head;
    const std::int64_t key = facts.key_value_heads * head;
    add(prefix + "input_layernorm.weight", {hidden_}, Role::whole, layer);
    const std::string attention = prefix + "self_attn.";
    if (family == Family::fused) {
      add(attention + "qkv_proj.weight", {query + 2 * key, hidden_}, Role::fused, layer);
    } else if (family == Family::latent) {
      add(attention + "q_a_proj.weight", {3, hidden_}, Role::whole, layer);
      add(attention + "q_b_proj.weight", {query, 3}, Role::query, layer);
      add(attention + "kv_a_proj_with_mqa.weight", {4, hidden_}, Role::whole, layer);
      add(attention + "kv_b_proj.weight", {2 * query, 4}, Role::query, layer);
    } else {
      add(attention + "q_proj.weight", {query, hidden_}, Role::query, layer);
      add(attention + "k_proj.weight", {key, hidden_}, Role::key_value, layer);
      add(attention + "v_proj.weight", {key, hidden_}, Role::key_value, layer);
      add(attention + "q_proj.bias", {query}, Role::query, layer);
      add(attention + "k_proj.bias", {key}, Role::key_value, layer);
    }
    add(attention + "o_proj.weight", {hidden_, query}, Role::output, layer);
    add(prefix + "post_attention_layernorm.weight", {hidden_}, Role::whole, layer);
    add_feed_forward(family, prefix, layer);
  }

  void add_feed_forward(Family family, const std::string& prefix, std::int64_t layer) {
    if (family == Family::fused) {
      add(prefix + "mlp.gate_up_proj.weight", {2 * width_, hidden_}, Role::fused, layer);
      add(prefix + "mlp.down_proj.weight", {hidden_, width_}, Role::columns, layer);
      return;
    }
    if (facts.experts == 0) {
      add_matrices(prefix + "mlp.", layer, -1);
      return;
    }
    add(prefix + "mlp.gate.weight", {facts.experts, hidden_}, Role::whole, layer);
    for (std::int64_t expert = 0; expert < facts.experts; ++expert) {
      add_matrices(prefix + "mlp.experts." + std::to_string(expert) + ".", layer, expert);
    }
    if (family == Family::latent) add_matrices(prefix + "mlp.shared_experts.", layer, -1);
  }

  void add_matrices(const std::string& prefix, std::int64_t layer, std::int64_t expert) {
    add(prefix + "gate_proj.weight", {width_, hidden_}, Role::rows, layer, expert);
    add(prefix + "up_proj.weight", {width_, hidden_}, Role::rows, layer, expert);
    add(prefix + "down_proj.weight", {hidden_, width_}, Role::columns, layer, expert);
  }

  [[nodiscard]] std::int64_t vocabulary_rows(std::int64_t ranks, std::int64_t multiple) const {
    if (ranks == 1) return vocabulary_;
    std::int64_t rows = multiple;
    while (rows * ranks < vocabulary_) rows += multiple;
    return rows;
  }

  [[nodiscard]] bool on_stage(const TinyTensor& tensor, std::int64_t stage,
                              const TrainerGrid& grid) const {
    const bool last = stage == grid.pipeline - 1;
    if (tensor.layer == -1) return stage == 0 || (last && facts.tied_head);
    if (tensor.layer == -2) return last;
    return tensor.layer >= facts.layers * stage / grid.pipeline &&
           tensor.layer < facts.layers * (stage + 1) / grid.pipeline;
  }

  std::int64_t hidden_ = 0;
  std::int64_t width_ = 0;
  std::int64_t vocabulary_ = 0;
};

}  // namespace physarum::weights::test
