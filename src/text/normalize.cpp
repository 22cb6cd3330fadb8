#include "normalize.hpp"

#include <cstdlib>
#include <memory>
#include <new>

#include <utf8proc.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/text/utf8.hpp"

#include "character_classes.hpp"
#include "unicode_tables.hpp"

namespace physarum::text {

namespace {

using Byte = CharacterReader::Byte;

const Byte* bytes_of(std::string_view text) { return reinterpret_cast<const Byte*>(text.data()); }
std::string_view between(const Byte* begin, const Byte* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
}

utf8proc_option_t options_of(NormalForm form) {
  switch (form) {
    case NormalForm::nfc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    case NormalForm::nfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case NormalForm::nfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    default:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
}

void append_mapped(NormalForm form, std::string_view text, std::string& out) {
  if (text.empty()) return;
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      bytes_of(text), base::narrow<utf8proc_ssize_t>(text.size()), &mapped, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  if (length == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  base::expects(length >= 0, "text to normalise must be valid UTF-8");
  out.append(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
}

/// A character's place together with the one before it.
struct Place {
  const Byte* before;  ///< where normalising has to begin so that what stands at `at` is right
  const Byte* at;
};

/// The first character from `at` on that normal form C may change. Joining looks back to the
/// character before, unless that one takes no part in it.
Place next_moved(const CharacterReader& reader, const Byte* at) {
  const Byte* before = at;
  char32_t last = 0;
  while (at < reader.end()) {
    // Below U+0300, whose first byte is 0xCC, no character moves.
    if (*at < 0xCC) {
      before = at;
      last = 0;
      at += *at < 0x80 ? 1 : 2;
      continue;
    }
    const Byte* next = at;
    if ((reader.classes(at, next) & character::moved_by_nfc) != 0) break;
    before = at;
    last = CharacterReader::decode(at, next);
    at = next;
  }
  return {last != 0 && is_beyond_normalizer(last) ? at : before, at};
}

std::string_view to_nfc(std::string_view text, std::string& storage) {
  const CharacterReader reader(text);
  const Byte* done = bytes_of(text);
  Place place = next_moved(reader, done);
  if (place.at == reader.end()) return text;
  storage.clear();
  while (place.at < reader.end()) {
    storage.append(between(done, place.before));
    const Byte* const end = reader.skip(place.at, character::moved_by_nfc);
    append_mapped(NormalForm::nfc, between(place.before, end), storage);
    done = end;
    place = next_moved(reader, done);
  }
  storage.append(between(done, reader.end()));
  return storage;
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<Byte>(c) >= 0x80) return false;
  }
  return true;
}

/// Normalises what stands between the characters that the reference passes on.
std::string_view to_other_form(NormalForm form, std::string_view text, std::string& storage) {
  if (is_ascii(text)) return text;
  storage.clear();
  const Byte* done = bytes_of(text);
  const Byte* const end = done + text.size();
  for (const Byte* at = done; at < end;) {
    const Byte* next = at;
    if (is_beyond_normalizer(CharacterReader::decode(at, next))) {
      append_mapped(form, between(done, at), storage);
      storage.append(between(at, next));
      done = next;
    }
    at = next;
  }
  append_mapped(form, between(done, end), storage);
  return storage;
}

bool changes_alone(char32_t c) {
  std::string text;
  append_utf8(text, c);
  std::string mapped;
  append_mapped(NormalForm::nfc, text, mapped);
  return mapped != text;
}

}  // namespace

std::string_view normalize(NormalForm form, std::string_view text, std::string& storage) {
  return form == NormalForm::nfc ? to_nfc(text, storage) : to_other_form(form, text, storage);
}

bool may_change_under_nfc(char32_t c) {
  if (c < 0x300 || is_beyond_normalizer(c) || (c >= 0xD800 && c < 0xE000)) return false;
  // Second and third parts of Korean syllables join by arithmetic.
  if ((c >= 0x1161 && c <= 0x1175) || (c >= 0x11A8 && c <= 0x11C2)) return true;
  // Marks change places or join, not all of them, but the others are no reason for a longer list.
  const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  const auto category = property->category;
  if (property->combining_class != 0 || category == UTF8PROC_CATEGORY_MN ||
      category == UTF8PROC_CATEGORY_MC) {
    return true;
  }
  constexpr auto none = static_cast<utf8proc_uint16_t>(-1);
  return property->decomp_seqindex != none && changes_alone(c);
}

}  // namespace physarum::text
