#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/weights/catalogue.hpp"

#include "physarum/model/block_type.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace physarum::model {

/// One tensor that a source has, under its Hugging Face name.
struct SourceTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< outermost first
  BlockType type = BlockType::f32;  ///< how it is stored
  [[nodiscard]] std::int64_t elements() const;
};

/// Weights that lie somewhere: any range of any tensor can be read as fp32 without the rest of it.
/// Any thread.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;
  WeightSource(WeightSource&&) = delete;
  WeightSource& operator=(WeightSource&&) = delete;

  [[nodiscard]] const std::vector<SourceTensor>& tensors() const { return tensors_; }
  /// Index into tensors(), or -1.
  [[nodiscard]] std::int64_t find(std::string_view name) const;
  /// For messages: the file or directory.
  [[nodiscard]] const std::string& where() const { return where_; }

  /// Reads elements [first, first + out.size()) of a tensor, row-major; they lie inside it. Throws
  /// UserError if the file has become shorter.
  void read(std::int64_t tensor, std::int64_t first, std::span<float> out) const;

 protected:
  /// Throws UserError for a name twice.
  WeightSource(std::string where, std::vector<SourceTensor> tensors);
  virtual void read_elements(std::size_t tensor, std::int64_t first,
                             std::span<float> out) const = 0;

 private:
  std::string where_;
  std::vector<SourceTensor> tensors_;
  std::map<std::string, std::int64_t, std::less<>> index_;
};

/// The weights at `path`, mapped into memory: a Hugging Face directory (model.safetensors, or
/// model.safetensors.index.json with the shards that it names; f32, bf16, f16), one .safetensors
/// file, or one .gguf file. Reads headers only. Throws UserError that names file and tensor for
/// anything damaged, missing or of another kind, and for shards that do not hold exactly the
/// tensors that the index says.
[[nodiscard]] std::unique_ptr<WeightSource> open_weights(const std::filesystem::path& path);

/// A flat buffer laid out as `layout`; both must outlive the source.
[[nodiscard]] std::unique_ptr<WeightSource> view_weights(const ParameterLayout& layout,
                                                         std::span<const float> flat);

/// Throws UserError that names them if parameters of `config` are missing in `source` or have
/// another shape, or if the source has tensors of other names (allowed: rotary tables and, with a
/// tied head, lm_head.weight).
void check_weights(const WeightSource& source, const ModelConfig& config,
                   const ParameterLayout& layout);

/// Reads a part of all parameters, and nothing else of the files: elements [range.begin, range.end)
/// of a flat buffer laid out as ParameterLayout(config), gaps between tensors as zeros, into `out`
/// (range.size() elements). Beyond `out` it needs some megabytes; what was read of the file is not
/// kept in this process's memory. Throws as check_weights().
void load_weights(const WeightSource& source, const ModelConfig& config, weights::Range range,
                  std::span<float> out);

/// All of them, from open_weights(path).
void load_weights(const std::filesystem::path& path, const ModelConfig& config,
                  std::span<float> flat);

}  // namespace physarum::model
