#include "physarum/text/strict_json.hpp"

#include "read_tokenizer.hpp"

namespace physarum::text {

bool read_normalizer_is_nfc(const JsonField& field) {
  const std::string& type = field.at("type").text();
  if (type == "NFC") return true;
  if (type != "Sequence") field.refuse_unsupported(type, "NFC, Sequence of NFC, null");
  field.expect_keys({"type", "normalizers"});
  const JsonField list = field.at("normalizers");
  constexpr std::size_t most = 8;
  bool nfc = false;
  for (std::size_t i = 0; i < list.items(most); ++i) {
    const std::string& inner = list.item(i).at("type").text();
    if (inner != "NFC") list.item(i).refuse_unsupported(inner, "NFC");
    nfc = true;
  }
  return nfc;
}

void check_post_processor(const JsonField& field) {
  const std::string& type = field.at("type").text();
  // Both only add special tokens or move offsets, and encode() adds nothing and gives no offsets.
  if (type == "ByteLevel" || type == "TemplateProcessing") return;
  if (type != "Sequence") {
    field.refuse_unsupported(type, "ByteLevel, TemplateProcessing, Sequence, null");
  }
  const JsonField list = field.at("processors");
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < list.items(most); ++i) check_post_processor(list.item(i));
}

void check_decoder(const JsonField& field) {
  const std::string& type = field.at("type").text();
  if (type != "ByteLevel") field.refuse_unsupported(type, "ByteLevel");
}

namespace {

std::optional<base::TokenId> read_token_name(const JsonField& root, std::string_view key,
                                             const TokenizerModel& model) {
  const auto field = root.find(key);
  if (!field) return std::nullopt;
  const JsonField name = field->value().is_object() ? field->at("content") : *field;
  const auto added = model.id_of_added.find(name.text());
  if (added != model.id_of_added.end()) return added->second;
  const auto bytes = model.id_of_bytes.find(name.text());
  if (bytes != model.id_of_bytes.end()) return bytes->second;
  name.refuse("names '" + name.text().substr(0, 64) + "', which is no token of tokenizer.json",
              "name one of its added_tokens");
}

}  // namespace

void read_token_names(std::string_view config, std::string_view where,
                      const TokenizerLimits& limits, TokenizerModel& model) {
  const std::string place = std::string(where) + " (tokenizer_config.json)";
  const nlohmann::json document = parse_strict_json(config, place, limits.json_depth);
  const JsonField root(document, place);
  model.eos = read_token_name(root, "eos_token", model);
  model.bos = read_token_name(root, "bos_token", model);
  model.pad = read_token_name(root, "pad_token", model);
}

}  // namespace physarum::text
