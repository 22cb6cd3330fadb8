#include "config_fields.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "physarum/base/error.hpp"

namespace physarum::model {

namespace {
const nlohmann::json no_fields = nlohmann::json::object();
// Exact in double, so that the comparison is; ModelConfig::validate() knows the real limits.
constexpr double largest_integer = 0x1p31;

bool is_count(const nlohmann::json& value) {
  return value.is_number_integer() && value.get<double>() >= 0 &&
         value.get<double>() <= largest_integer;
}

bool is_token_id(const nlohmann::json& value) {
  return value.is_number_integer() && value.get<double>() >= 0 &&
         value.get<double>() <= std::numeric_limits<base::TokenId>::max();
}
}  // namespace

ConfigFields::ConfigFields(const nlohmann::json& object, std::string where)
    : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw base::UserError("is not a JSON object", where_, "give the config.json of a model");
  }
}

const nlohmann::json* ConfigFields::find(const char* name) const {
  const auto at = object_->find(name);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

bool ConfigFields::has(const char* name) const { return find(name) != nullptr; }

bool ConfigFields::is_null(const char* name) const {
  const auto at = object_->find(name);
  return at != object_->end() && at->is_null();
}

void ConfigFields::refuse(const char* name, std::string_view what, std::string_view mend) const {
  throw base::UserError("field '" + std::string(name) + "' " + std::string(what), where_, mend);
}

std::int64_t ConfigFields::positive_integer(const char* name,
                                            std::optional<std::int64_t> otherwise) const {
  const auto* value = find(name);
  if (value == nullptr) {
    if (!otherwise) refuse(name, "is missing", "give a complete config.json");
    return *otherwise;
  }
  const double number = value->is_number_integer() ? value->get<double>() : 0.0;
  if (number < 1 || number > largest_integer) {
    refuse(name, "is " + value->dump(), "it must be a positive integer");
  }
  return value->get<std::int64_t>();
}

double ConfigFields::positive(const char* name, std::optional<double> otherwise) const {
  const auto* value = find(name);
  if (value == nullptr) {
    if (!otherwise) refuse(name, "is missing", "give a complete config.json");
    return *otherwise;
  }
  const double number = value->is_number() ? value->get<double>() : -1.0;
  if (!(std::isfinite(number) && number > 0)) {
    refuse(name, "is " + value->dump(), "it must be a positive number");
  }
  return number;
}

double ConfigFields::number(const char* name, double otherwise) const {
  const auto* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    refuse(name, "is " + value->dump(), "it must be a number");
  }
  return value->get<double>();
}

std::int64_t ConfigFields::integer(const char* name, std::int64_t otherwise) const {
  const auto* value = find(name);
  if (value == nullptr) return otherwise;
  if (!is_count(*value)) {
    refuse(name, "is " + value->dump(), "it must be an integer that is not negative");
  }
  return value->get<std::int64_t>();
}

std::vector<std::int64_t> ConfigFields::integers(const char* name) const {
  const auto* value = find(name);
  if (value == nullptr) return {};
  std::vector<std::int64_t> numbers;
  for (const auto& item : *value) {
    if (!value->is_array() || !is_count(item)) {
      refuse(name, "is " + value->dump(), "it must be a list of integers that are not negative");
    }
    numbers.push_back(item.get<std::int64_t>());
  }
  return numbers;
}

bool ConfigFields::boolean(const char* name, bool otherwise) const {
  const auto* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse(name, "is " + value->dump(), "it must be true or false");
  return value->get<bool>();
}

std::string ConfigFields::text(const char* name, std::optional<std::string> otherwise) const {
  const auto* value = find(name);
  if (value == nullptr) {
    if (!otherwise) refuse(name, "is missing", "give a complete config.json");
    return *otherwise;
  }
  if (!value->is_string()) refuse(name, "is " + value->dump(), "it must be a string");
  return value->get<std::string>();
}

std::vector<std::string> ConfigFields::texts(const char* name) const {
  const auto* value = find(name);
  if (value == nullptr) return {};
  std::vector<std::string> texts;
  for (const auto& item : *value) {
    if (!value->is_array() || !item.is_string()) {
      refuse(name, "is " + value->dump(), "it must be a list of strings");
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<base::TokenId> ConfigFields::token_ids(const char* name) const {
  const auto* value = find(name);
  if (value == nullptr) return {};
  std::vector<base::TokenId> ids;
  for (const auto& item : value->is_array() ? *value : nlohmann::json::array({*value})) {
    if (!is_token_id(item)) {
      refuse(name, "is " + value->dump(), "it must be a token id or a list of them");
    }
    ids.push_back(item.get<base::TokenId>());
  }
  return ids;
}

ConfigFields ConfigFields::object(const char* name) const {
  const auto* value = find(name);
  return {value == nullptr ? no_fields : *value, where_ + ": " + name};
}

}  // namespace physarum::model
