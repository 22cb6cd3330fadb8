#include "physarum/base/error.hpp"

namespace physarum::base {

namespace {
std::string user_message(std::string_view what, std::string_view where, std::string_view mend) {
  std::string text;
  if (!where.empty()) text.append(where).append(": ");
  text.append(what);
  if (!mend.empty()) text.append("; ").append(mend);
  // One line, whatever the input held: a message is read by people and by scripts.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}
}  // namespace

UserError::UserError(std::string_view what_is_wrong, std::string_view where, std::string_view mend)
    : std::runtime_error(user_message(what_is_wrong, where, mend)) {}

WorldError::WorldError(std::string_view call, long code, std::string_view text,
                       const SourceLocation& where)
    : std::runtime_error(std::string(call) + " failed with code " + std::to_string(code) + ": " +
                         std::string(text) + " (" + where.file_name() + ":" +
                         std::to_string(where.line()) + ")"),
      call_(call),
      code_(code) {}

}  // namespace physarum::base
