#include "template_operators.hpp"

namespace physarum::text::jinja {

Text escape_html(const Text& text) {
  Text out;
  const std::string& bytes = text.bytes();
  std::size_t plain = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    const char* escape = c == '&'    ? "&amp;"
                         : c == '<'  ? "&lt;"
                         : c == '>'  ? "&gt;"
                         : c == '\'' ? "&#39;"
                         : c == '"'  ? "&#34;"
                                     : nullptr;
    if (escape == nullptr) continue;
    out.append(text, plain, at);
    out.append_like(escape, text, at);
    plain = at + 1;
  }
  out.append(text, plain, bytes.size());
  return out;
}

}  // namespace physarum::text::jinja
