#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

constexpr std::size_t most_steps = 8;  ///< in a row of one kind of component

NormalForm read_normal_form(const JsonField& field) {
  field.expect_keys({"type"});
  const std::string& type = field.at("type").text();
  if (type == "NFC") return NormalForm::nfc;
  if (type == "NFD") return NormalForm::nfd;
  if (type == "NFKC") return NormalForm::nfkc;
  if (type == "NFKD") return NormalForm::nfkd;
  field.refuse_unsupported(type, "NFC, NFD, NFKC, NFKD, a Sequence of them, null");
}

}  // namespace

std::vector<NormalForm> read_normalizer(const JsonField& field) {
  if (field.at("type").text() != "Sequence") return {read_normal_form(field)};
  field.expect_keys({"type", "normalizers"});
  const JsonField list = field.at("normalizers");
  std::vector<NormalForm> forms;
  for (std::size_t i = 0; i < list.items(most_steps); ++i) {
    forms.push_back(read_normal_form(list.item(i)));
  }
  return forms;
}

void check_post_processor(const JsonField& field) {
  const std::string& type = field.at("type").text();
  // Both only add special tokens or move offsets, and encode() adds nothing and gives no offsets.
  if (type == "ByteLevel" || type == "TemplateProcessing") return;
  if (type != "Sequence") {
    field.refuse_unsupported(type, "ByteLevel, TemplateProcessing, Sequence, null");
  }
  const JsonField list = field.at("processors");
  for (std::size_t i = 0; i < list.items(most_steps); ++i) check_post_processor(list.item(i));
}

void check_decoder(const JsonField& field) {
  const std::string& type = field.at("type").text();
  if (type == "ByteLevel") return;
  if (type != "Sequence") field.refuse_unsupported(type, "ByteLevel, Sequence of it");
  // Behind the first the text is whole, and a second would read it as the byte alphabet again.
  const JsonField list = field.at("decoders");
  if (list.items(1) != 1) list.refuse("must hold one decoder", "put ByteLevel there");
  check_decoder(list.item(0));
}

namespace {

std::optional<base::TokenId> read_token_name(const JsonField& root, std::string_view key,
                                             const TokenizerModel& model) {
  const auto field = root.find(key);
  if (!field) return std::nullopt;
  const JsonField name = field->value().is_object() ? field->at("content") : *field;
  if (const auto id = find_token(model, name.text())) return id;
  name.refuse("names '" + name.text().substr(0, 64) + "', which is no token of tokenizer.json",
              "name one of its added_tokens");
}

}  // namespace

void read_token_names(const JsonField& config, TokenizerModel& model) {
  model.eos = read_token_name(config, "eos_token", model);
  model.bos = read_token_name(config, "bos_token", model);
  model.pad = read_token_name(config, "pad_token", model);
  model.unk = read_token_name(config, "unk_token", model);
}

}  // namespace physarum::text
