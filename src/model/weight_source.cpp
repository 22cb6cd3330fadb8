#include "physarum/model/weight_source.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "weight_sources.hpp"

namespace physarum::model {

namespace {

std::vector<SourceTensor> tensors_of(const ParameterLayout& layout) {
  std::vector<SourceTensor> tensors;
  for (const auto& place : layout.tensors()) {
    tensors.push_back({place.name, place.shape, BlockType::f32});
  }
  return tensors;
}

class FlatSource final : public WeightSource {
 public:
  FlatSource(const ParameterLayout& layout, std::span<const float> flat)
      : WeightSource("memory", tensors_of(layout)), layout_(layout), flat_(flat) {
    base::expects(static_cast<std::int64_t>(flat.size()) == layout.total(),
                  "the flat buffer was made for another model");
  }

 private:
  void read_elements(std::size_t tensor, std::int64_t first, std::span<float> out) const override {
    const auto begin = static_cast<std::size_t>(layout_.tensors()[tensor].offset + first);
    std::ranges::copy(flat_.subspan(begin, out.size()), out.begin());
  }
  const ParameterLayout& layout_;
  std::span<const float> flat_;
};

}  // namespace

std::int64_t SourceTensor::elements() const {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

WeightSource::WeightSource(std::string where, std::vector<SourceTensor> tensors)
    : where_(std::move(where)), tensors_(std::move(tensors)) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (index_.emplace(tensors_[i].name, static_cast<std::int64_t>(i)).second) continue;
    throw base::UserError("tensor '" + tensors_[i].name + "' is there twice", where_,
                          "give each tensor once");
  }
}

std::int64_t WeightSource::find(std::string_view name) const {
  const auto at = index_.find(name);
  return at == index_.end() ? -1 : at->second;
}

void WeightSource::read(std::int64_t tensor, std::int64_t first, std::span<float> out) const {
  const auto index = static_cast<std::size_t>(tensor);
  base::expects(tensor >= 0 && index < tensors_.size() && first >= 0 &&
                    static_cast<std::int64_t>(out.size()) <= tensors_[index].elements() - first,
                "the range lies inside the tensor");
  if (!out.empty()) read_elements(index, first, out);
}

std::unique_ptr<WeightSource> view_weights(const ParameterLayout& layout,
                                           std::span<const float> flat) {
  return std::make_unique<FlatSource>(layout, flat);
}

std::unique_ptr<WeightSource> open_weights(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_hf_directory(path);
  if (path.extension() == ".gguf") return open_gguf_weights(path);
  if (path.extension() == ".safetensors") return open_safetensors(path);
  const bool there = std::filesystem::exists(path, error);
  throw base::UserError(there ? "is of no known kind" : "does not exist", path.string(),
                        "give a Hugging Face directory, a .gguf or a .safetensors file");
}

}  // namespace physarum::model
