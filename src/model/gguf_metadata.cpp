#include "gguf_metadata.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "physarum/base/error.hpp"

namespace physarum::model {

namespace {

/// The file's numbers of types of values.
enum class ValueType : std::uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64
};
constexpr std::uint64_t least_entry_bytes = 8 + 1 + 4 + 1;

class ValueReader {
 public:
  ValueReader(GgufCursor& cursor, const GgufLimits& limits, const std::string& key)
      : cursor_(cursor), limits_(limits), what_("the value of '" + key + "'") {}

  GgufValue read() {
    const auto type = read_type();
    if (type == ValueType::array) return read_array();
    if (type == ValueType::string) return cursor_.text(what_, limits_.string_bytes);
    if (type == ValueType::float32) return cursor_.get<float>(what_);
    if (type == ValueType::float64) return cursor_.get<double>(what_);
    if (type == ValueType::boolean) return read_boolean();
    if (type == ValueType::uint64) return cursor_.get<std::uint64_t>(what_);
    return read_integer(type);
  }

 private:
  ValueType read_type() {
    const auto number = cursor_.get<std::uint32_t>(what_);
    if (number > static_cast<std::uint32_t>(ValueType::float64)) {
      cursor_.refuse(what_ + " has the unknown type " + std::to_string(number));
    }
    return static_cast<ValueType>(number);
  }

  bool read_boolean() {
    const auto byte = cursor_.get<std::uint8_t>(what_);
    if (byte > 1) cursor_.refuse(what_ + " is neither true nor false");
    return byte == 1;
  }

  std::int64_t read_integer(ValueType type) {
    switch (type) {
      case ValueType::uint8:
        return cursor_.get<std::uint8_t>(what_);
      case ValueType::int8:
        return cursor_.get<std::int8_t>(what_);
      case ValueType::uint16:
        return cursor_.get<std::uint16_t>(what_);
      case ValueType::int16:
        return cursor_.get<std::int16_t>(what_);
      case ValueType::uint32:
        return cursor_.get<std::uint32_t>(what_);
      case ValueType::int32:
        return cursor_.get<std::int32_t>(what_);
      case ValueType::boolean:
        return read_boolean() ? 1 : 0;
      case ValueType::uint64: {
        const auto value = cursor_.get<std::uint64_t>(what_);
        if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
          cursor_.refuse(what_ + " has an item above 2^63");
        }
        return static_cast<std::int64_t>(value);
      }
      default:
        return cursor_.get<std::int64_t>(what_);
    }
  }

  static std::uint64_t bytes_of(ValueType type) {
    switch (type) {
      case ValueType::uint8:
      case ValueType::int8:
      case ValueType::boolean:
        return 1;
      case ValueType::uint16:
      case ValueType::int16:
        return 2;
      case ValueType::uint32:
      case ValueType::int32:
      case ValueType::float32:
        return 4;
      default:
        return 8;
    }
  }

  template <class T, class Read>
  std::vector<T> read_items(std::uint64_t count, Read read) {
    std::vector<T> items;
    items.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) items.push_back(read());
    return items;
  }

  GgufValue read_array() {
    const auto type = read_type();
    const auto count = cursor_.get<std::uint64_t>(what_);
    if (type == ValueType::array) cursor_.refuse(what_ + " is an array of arrays");
    cursor_.need_items(count, bytes_of(type), limits_.array_items, what_);
    if (type == ValueType::string) {
      return read_items<std::string>(count,
                                     [&] { return cursor_.text(what_, limits_.string_bytes); });
    }
    if (type == ValueType::float32) {
      return read_items<double>(count, [&] { return double{cursor_.get<float>(what_)}; });
    }
    if (type == ValueType::float64) {
      return read_items<double>(count, [&] { return cursor_.get<double>(what_); });
    }
    return read_items<std::int64_t>(count, [&] { return read_integer(type); });
  }

  GgufCursor& cursor_;
  const GgufLimits& limits_;
  std::string what_;
};

[[noreturn]] void refuse_type(std::string_view key, const char* wanted, std::string_view where) {
  throw base::UserError("'" + std::string(key) + "' is not " + wanted, where,
                        "the file is damaged or of another kind");
}

template <class T>
const T* get_as(const GgufHeader& header, std::string_view key, const char* wanted,
                std::string_view where) {
  const auto at = header.metadata.find(key);
  if (at == header.metadata.end()) return nullptr;
  const T* value = std::get_if<T>(&at->second);
  if (value == nullptr) refuse_type(key, wanted, where);
  return value;
}

}  // namespace

std::map<std::string, GgufValue, std::less<>> read_gguf_metadata(GgufCursor& cursor,
                                                                 std::uint64_t entries,
                                                                 const GgufLimits& limits) {
  cursor.need_items(entries, least_entry_bytes, limits.entries, "the metadata");
  std::map<std::string, GgufValue, std::less<>> metadata;
  for (std::uint64_t i = 0; i < entries; ++i) {
    auto key = cursor.text("a metadata key", limits.name_bytes);
    if (key.empty()) cursor.refuse("a metadata key is empty");
    auto value = ValueReader(cursor, limits, key).read();
    if (metadata.contains(key)) cursor.refuse("the key '" + key + "' is there twice");
    metadata.emplace(std::move(key), std::move(value));
  }
  return metadata;
}

const std::string* GgufHeader::text(std::string_view key, std::string_view where) const {
  return get_as<std::string>(*this, key, "a string", where);
}

const std::vector<std::string>* GgufHeader::texts(std::string_view key,
                                                  std::string_view where) const {
  return get_as<std::vector<std::string>>(*this, key, "an array of strings", where);
}

const std::vector<std::int64_t>* GgufHeader::integers(std::string_view key,
                                                      std::string_view where) const {
  return get_as<std::vector<std::int64_t>>(*this, key, "an array of integers", where);
}

std::optional<bool> GgufHeader::flag(std::string_view key, std::string_view where) const {
  const auto* value = get_as<bool>(*this, key, "true or false", where);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> GgufHeader::count(std::string_view key, std::string_view where) const {
  const auto at = metadata.find(key);
  if (at == metadata.end()) return std::nullopt;
  const char* wanted = "an integer from 0 to 2^63 - 1";
  if (const auto* wide = std::get_if<std::uint64_t>(&at->second)) {
    if (*wide > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      refuse_type(key, wanted, where);
    }
    return static_cast<std::int64_t>(*wide);
  }
  const auto* value = std::get_if<std::int64_t>(&at->second);
  if (value == nullptr || *value < 0) refuse_type(key, wanted, where);
  return *value;
}

std::optional<double> GgufHeader::number(std::string_view key, std::string_view where) const {
  const auto at = metadata.find(key);
  if (at == metadata.end()) return std::nullopt;
  if (const auto* wide = std::get_if<double>(&at->second)) return *wide;
  const auto* value = std::get_if<float>(&at->second);
  if (value == nullptr) refuse_type(key, "a floating-point number", where);
  if (!std::isfinite(*value)) return *value;
  // 1e-5 and not 9.999999747378752e-06, which is what the nearest float is worth as a double.
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, *value);
  double result = 0;
  std::from_chars(digits, written.ptr, result);
  return result;
}

}  // namespace physarum::model
