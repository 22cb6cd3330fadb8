#include "json_field.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

namespace physarum::text {

JsonField JsonField::child(const nlohmann::json& value, std::string_view key) const {
  JsonField field(value, file_, path_.empty() ? std::string(key) : path_ + "." + std::string(key));
  field.key_ = key;
  return field;
}

void JsonField::expect_object() const {
  if (!value_->is_object()) refuse("must be a JSON object", "see the format of tokenizer.json");
}

JsonField JsonField::at(std::string_view key) const {
  expect_object();
  const auto found = value_->find(key);
  if (found == value_->end()) {
    refuse("has no field '" + std::string(key) + "'", "export the tokenizer again");
  }
  return child(*found, key);
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  expect_object();
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return child(*found, key);
}

JsonField JsonField::item(std::size_t index) const {
  return JsonField((*value_)[index], file_, path_ + "[" + std::to_string(index) + "]");
}

std::vector<JsonField> JsonField::members(std::size_t limit) const {
  expect_object();
  if (value_->size() > limit) {
    refuse("has " + std::to_string(value_->size()) + " members, at most " + std::to_string(limit) +
               " are allowed",
           "use a smaller tokenizer");
  }
  std::vector<JsonField> fields;
  fields.reserve(value_->size());
  for (const auto& [name, value] : value_->items()) fields.push_back(child(value, name));
  return fields;
}

std::size_t JsonField::items(std::size_t limit) const {
  if (!value_->is_array()) refuse("must be an array", "export the tokenizer again");
  if (value_->size() > limit) {
    refuse("has " + std::to_string(value_->size()) + " entries, at most " + std::to_string(limit) +
               " are allowed",
           "use a smaller tokenizer");
  }
  return value_->size();
}

const std::string& JsonField::text() const {
  if (!value_->is_string()) refuse("must be a text", "put it in quotes");
  return value_->get_ref<const std::string&>();
}

std::int64_t JsonField::integer() const {
  if (!value_->is_number_integer()) refuse("must be an integer", "export the tokenizer again");
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX) {
    refuse("is too large", "export the tokenizer again");
  }
  return value_->get<std::int64_t>();
}

bool JsonField::flag() const {
  if (!value_->is_boolean()) refuse("must be true or false", "export the tokenizer again");
  return value_->get<bool>();
}

bool JsonField::flag_or(std::string_view key, bool otherwise) const {
  const auto field = find(key);
  return field ? field->flag() : otherwise;
}

void JsonField::expect_keys(std::initializer_list<std::string_view> known) const {
  expect_object();
  for (const auto& [key, value] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    child(value, key)
        .refuse("is a field that this program does not know",
                "remove it if it does not change the tokens");
  }
}

std::string JsonField::place() const { return path_.empty() ? file_ : file_ + ": " + path_; }

void JsonField::refuse(std::string_view what, std::string_view mend) const {
  throw base::UserError(what, place(), mend);
}

void JsonField::refuse_unsupported(std::string_view kind, std::string_view supported) const {
  refuse("'" + std::string(kind) + "' is not supported",
         "supported here: " + std::string(supported));
}

}  // namespace physarum::text
