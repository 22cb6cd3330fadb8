#include "gguf_cursor.hpp"

#include "physarum/base/error.hpp"

#include "valid_utf8.hpp"

namespace physarum::model {

void GgufCursor::refuse(const std::string& what) const {
  throw base::UserError(what + " (at byte " + std::to_string(at_) + ")", where_,
                        "the file is damaged or not complete; get it again");
}

void GgufCursor::need(std::uint64_t bytes, std::string_view what) const {
  if (bytes > left()) refuse("the file ends within " + std::string(what));
}

void GgufCursor::need_items(std::uint64_t count, std::uint64_t bytes_each, std::uint64_t most,
                            std::string_view what) const {
  if (count > most) {
    refuse(std::string(what) + " has " + std::to_string(count) + " items, at most " +
           std::to_string(most) + " are allowed");
  }
  if (count > left() / bytes_each) {
    refuse(std::string(what) + " has more items than the file has bytes");
  }
}

std::string GgufCursor::text(std::string_view what, std::uint64_t most_bytes) {
  const auto bytes = get<std::uint64_t>(what);
  if (bytes > most_bytes) {
    refuse(std::string(what) + " is " + std::to_string(bytes) + " bytes long, at most " +
           std::to_string(most_bytes) + " are allowed");
  }
  need(bytes, what);
  std::string text(reinterpret_cast<const char*>(file_.data() + at_),
                   static_cast<std::size_t>(bytes));
  if (!is_valid_utf8(text)) refuse(std::string(what) + " is not valid UTF-8");
  at_ += bytes;
  return text;
}

}  // namespace physarum::model
