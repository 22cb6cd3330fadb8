#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "physarum/model/config.hpp"

#include "config_fields.hpp"

namespace physarum::model {

/// Names of the tensors of one layer's experts, as they stand in a checkpoint behind
/// "model.layers.<n>.".
struct ExpertNames {
  const char* router = nullptr;   ///< [experts, hidden]
  const char* experts = nullptr;  ///< before the expert's number
  const char* gate = nullptr;     ///< behind it: [intermediate, hidden]
  const char* up = nullptr;       ///< [intermediate, hidden]
  const char* down = nullptr;     ///< [hidden, intermediate]
};

/// What transformers takes where config.json lacks a field; 0: it follows from other fields.
struct FamilyDefaults {
  double rms_norm_eps = 1e-6;
  double rope_theta = 10'000.0;
  std::int64_t num_key_value_heads = 0;  ///< 0: num_attention_heads
  std::int64_t head_dim = 0;             ///< 0: hidden_size / num_attention_heads
};

/// A model family: all that is not the same in every family. docs/models.md says how to add one.
struct Family {
  const char* model_type;
  const char* architecture;  ///< class of transformers
  FamilyDefaults defaults = {};
  ExpertNames expert_names = {};
  /// Reads the family's own fields; sizes and rotary positions are in `config` already. Throws
  /// UserError.
  void (*read)(const ConfigFields& fields, ModelConfig& config);
  /// The other way round.
  void (*write)(const ModelConfig& config, nlohmann::ordered_json& json);
};

/// Null if there is none of this model_type.
[[nodiscard]] const Family* find_family(std::string_view model_type);

}  // namespace physarum::model
