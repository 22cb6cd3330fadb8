// The weights of a GGUF file under their Hugging Face names and in the order of rows that Hugging
// Face has.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/model/gguf.hpp"

#include "gguf_architecture.hpp"
#include "gguf_names.hpp"
#include "weight_sources.hpp"

namespace physarum::model {

namespace {

/// llama.cpp rotates neighbouring elements where Hugging Face rotates the two halves of a head, so
/// its files of the llama architecture have the rows of a head's query and key interleaved: row
/// 2 * i + h of a head is row i of half h.
class RowOrder {
 public:
  explicit RowOrder(std::int64_t head_rows) : half_(head_rows / 2) {}

  /// Where a row that Hugging Face numbers so lies in the file.
  [[nodiscard]] std::int64_t in_file(std::int64_t row) const {
    const std::int64_t in_head = row % (2 * half_);
    return row - in_head + 2 * (in_head % half_) + in_head / half_;
  }

 private:
  std::int64_t half_;
};

/// The heads whose rows make up the tensor, if it is interleaved; otherwise nothing.
std::optional<RowOrder> row_order(const GgufTensor& tensor, const GgufHeader& header,
                                  std::string_view where) {
  const bool query = tensor.name.find(".attn_q.") != std::string::npos;
  const bool key = tensor.name.find(".attn_k.") != std::string::npos;
  if ((!query && !key) || !is_llama(header, where)) return std::nullopt;
  const auto heads = attention_heads(header, where);
  const auto count = query ? heads.query : heads.key_value;
  if (tensor.shape.front() % (2 * count) != 0) {
    throw base::UserError("tensor '" + tensor.name + "' has " +
                              std::to_string(tensor.shape.front()) + " rows for " +
                              std::to_string(count) + " heads",
                          where, "the file is damaged");
  }
  return RowOrder(tensor.shape.front() / count);
}

std::vector<const GgufTensor*> parameters_of(const GgufHeader& header) {
  std::vector<const GgufTensor*> parameters;
  for (const auto& tensor : header.tensors) {
    if (tensor.name != rope_factors_name) parameters.push_back(&tensor);
  }
  return parameters;
}

std::vector<SourceTensor> describe(const std::vector<const GgufTensor*>& parameters) {
  std::vector<SourceTensor> tensors;
  for (const auto* tensor : parameters) {
    tensors.push_back({hugging_face_name(tensor->name), tensor->shape, tensor->type});
  }
  return tensors;
}

class GgufSource final : public WeightSource {
 public:
  explicit GgufSource(std::unique_ptr<GgufFile> file)
      : WeightSource(file->where(), describe(parameters_of(file->header()))),
        file_(std::move(file)),
        parameters_(parameters_of(file_->header())) {
    for (const auto* tensor : parameters_) {
      orders_.push_back(row_order(*tensor, file_->header(), where()));
    }
  }

 private:
  void read_elements(std::size_t index, std::int64_t first, std::span<float> out) const override {
    const GgufTensor& tensor = *parameters_[index];
    if (orders_[index]) {
      read_rows(tensor, *orders_[index], first, out);
    } else {
      file_->read(tensor, first, out);
    }
    file_->release(tensor, first, static_cast<std::int64_t>(out.size()));
  }

  void read_rows(const GgufTensor& tensor, const RowOrder& order, std::int64_t first,
                 std::span<float> out) const {
    const std::int64_t width = tensor.elements() / tensor.shape.front();
    while (!out.empty()) {
      const std::int64_t in_row = first % width;
      const auto part = out.first(std::min(out.size(), static_cast<std::size_t>(width - in_row)));
      file_->read(tensor, order.in_file(first / width) * width + in_row, part);
      out = out.subspan(part.size());
      first += static_cast<std::int64_t>(part.size());
    }
  }

  std::unique_ptr<GgufFile> file_;
  std::vector<const GgufTensor*> parameters_;
  std::vector<std::optional<RowOrder>> orders_;
};

}  // namespace

std::unique_ptr<WeightSource> open_gguf_weights(const std::filesystem::path& path) {
  auto file = std::make_unique<GgufFile>(path);
  (void)gguf_architecture(file->header(), path.string());
  return std::make_unique<GgufSource>(std::move(file));
}

}  // namespace physarum::model
