#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace physarum::text {

/// A value in a JSON file together with its place, so that every complaint names the field. All
/// readers throw UserError. The JSON must outlive the field.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string file, std::string path = "")
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }

  /// A member that must be there.
  [[nodiscard]] JsonField at(std::string_view key) const;
  /// A member that may be absent or null.
  [[nodiscard]] std::optional<JsonField> find(std::string_view key) const;
  /// An element of an array that was checked by items().
  [[nodiscard]] JsonField item(std::size_t index) const;

  /// All members; the value must be an object of at most `limit`.
  [[nodiscard]] std::vector<JsonField> members(std::size_t limit) const;
  /// The last part of the place: for a member its key.
  [[nodiscard]] const std::string& key() const { return key_; }

  /// Number of elements; the value must be an array of at most `limit`.
  [[nodiscard]] std::size_t items(std::size_t limit) const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] bool flag_or(std::string_view key, bool otherwise) const;

  /// The value must be an object with no other keys: a key that we do not know may change what the
  /// others mean.
  void expect_keys(std::initializer_list<std::string_view> known) const;

  /// "file: path", for complaints of others.
  [[nodiscard]] std::string place() const;
  [[noreturn]] void refuse(std::string_view what, std::string_view mend) const;
  /// For a component that this program does not have: `kind` is its name in the file.
  [[noreturn]] void refuse_unsupported(std::string_view kind, std::string_view supported) const;

 private:
  [[nodiscard]] JsonField child(const nlohmann::json& value, std::string_view key) const;
  void expect_object() const;
  const nlohmann::json* value_;
  std::string file_;
  std::string path_;
  std::string key_;
};

}  // namespace physarum::text
