#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/ids.hpp"

namespace physarum::model {

/// Typed, checked access to the fields of one JSON object. Every complaint is a UserError that
/// names the place and the field. A field that is absent or null gives the default.
class ConfigFields {
 public:
  ConfigFields(const nlohmann::json& object, std::string where);

  [[nodiscard]] bool has(const char* name) const;
  /// Present, but null.
  [[nodiscard]] bool is_null(const char* name) const;
  /// Without a default the field is required.
  [[nodiscard]] std::int64_t positive_integer(const char* name,
                                              std::optional<std::int64_t> otherwise = {}) const;
  [[nodiscard]] double positive(const char* name, std::optional<double> otherwise = {}) const;
  /// Any finite number.
  [[nodiscard]] double number(const char* name, double otherwise) const;
  /// From 0 on.
  [[nodiscard]] std::int64_t integer(const char* name, std::int64_t otherwise) const;
  /// A list of such numbers; empty if the field is absent.
  [[nodiscard]] std::vector<std::int64_t> integers(const char* name) const;
  [[nodiscard]] bool boolean(const char* name, bool otherwise) const;
  [[nodiscard]] std::string text(const char* name, std::optional<std::string> otherwise = {}) const;
  /// A list of strings; empty if the field is absent.
  [[nodiscard]] std::vector<std::string> texts(const char* name) const;
  /// A token id, a list of them, or none.
  [[nodiscard]] std::vector<base::TokenId> token_ids(const char* name) const;
  /// A nested object; empty if the field is absent.
  [[nodiscard]] ConfigFields object(const char* name) const;

  [[noreturn]] void refuse(const char* name, std::string_view what, std::string_view mend) const;

 private:
  [[nodiscard]] const nlohmann::json* find(const char* name) const;
  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace physarum::model
