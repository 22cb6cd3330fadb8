#!/usr/bin/env python3
"""Makes src/text/unicode_tables.cpp: where the Unicode data of Hugging Face's library differs from ours.

  make_unicode_tables.py [FILE]      needs the Python package tokenizers (made with 0.23.3) and Python 3.11

The library's patterns know the characters of Unicode 16, its normaliser those of Unicode 9; PCRE2 knows Unicode 14
or newer, utf8proc Unicode 15 or newer. Every code point is asked: a pattern for each category and script, each normal
form, and its place among other marks. Python 3.11 knows Unicode 14 and so plays the part of PCRE2.
"""
import pathlib
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# Scripts got new members only among characters that got their category then, too.
SCRIPTS = ["Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul", "Hebrew", "Hiragana", "Katakana", "Latin", "Thai"]
assert unicodedata.unidata_version == "14.0.0", "run it with Python 3.11"


def members(pattern):
    """All code points that the library's pattern matches."""
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    found = set()
    for at in range(0, len(POINTS), 4096):
        chunk = POINTS[at:at + 4096]
        kept = set()
        for _, (begin, end) in split.pre_tokenize_str("".join(map(chr, chunk))):
            kept.update(range(begin, end))
        found.update(c for i, c in enumerate(chunk) if i not in kept)
    return found


def ranges(points):
    rows = []
    for c in sorted(points):
        if rows and rows[-1][1] == c - 1:
            rows[-1][1] = c
        else:
            rows.append([c, c])
    return rows


def categories():
    """Characters that are newer than Unicode 14, with their category. None moved to another first letter."""
    rows = []
    for category in sorted({unicodedata.category(chr(c)) for c in POINTS} | {"Lt"}):
        if category[0] != "C":
            new = members(rf"\p{{{category}}}") - {c for c in POINTS if unicodedata.category(chr(c)) == category}
            rows += [(first, last, category) for first, last in ranges(new)]
    return sorted(rows)


def scripts(new):
    return [(first, last, script) for script in SCRIPTS
            for first, last in ranges(members(rf"\p{{{script}}}") & new)]


def unmoved():
    """What Unicode 14 normalises and the library does not."""
    found = set()
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        library = getattr(normalizers, form)()
        found |= {c for c in POINTS if library.normalize_str(chr(c)) != unicodedata.normalize(form, chr(c))}
    library = normalizers.NFC()
    for c in POINTS:
        if unicodedata.combining(chr(c)):
            for other in "\u0301\u0323\u3099\u05b0\u094d":
                texts = "a" + chr(c) + other, "a" + other + chr(c)
                if any(library.normalize_str(text) != unicodedata.normalize("NFC", text) for text in texts):
                    found.add(c)
        parts = unicodedata.normalize("NFD", chr(c))
        if len(parts) == 2 and unicodedata.normalize("NFC", parts) != library.normalize_str(parts):
            found.update(map(ord, parts))
    return ranges(found)


def rows(name, kind, entries):
    yield f"constexpr {kind} {name}[] = {{"
    for entry in entries:
        tail = f', "{entry[2]}"' if len(entry) == 3 else ""
        yield f"    {{0x{entry[0]:X}, 0x{entry[1]:X}{tail}}},"
    yield "};"
    yield ""


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src/text/unicode_tables.cpp"
    new = categories()
    points = {c for first, last, _ in new for c in range(first, last + 1)}
    lines = ["// Made by tests/golden/make_unicode_tables.py.",
             '#include "unicode_tables.hpp"', "", "#include <algorithm>", "#include <iterator>", "",
             "namespace physarum::text {", "", "namespace {", "",
             *rows("categories", "NamedRange", new), *rows("scripts", "NamedRange", scripts(points)),
             *rows("unmoved", "CharacterRange", unmoved()),
             "template <class Range, std::size_t count>",
             "bool holds(const Range (&ranges)[count], char32_t c) {",
             "  const auto range = std::lower_bound(std::begin(ranges), std::end(ranges), c,",
             "                                      [](const Range& r, char32_t v) { return r.last < v; });",
             "  return range != std::end(ranges) && range->first <= c;", "}", "",
             "}  // namespace", "",
             "std::span<const NamedRange> categories_since_unicode_14() { return categories; }",
             "std::span<const NamedRange> scripts_since_unicode_14() { return scripts; }", "",
             "bool is_beyond_normalizer(char32_t c) { return holds(unmoved, c) || holds(categories, c); }", "",
             "}  // namespace physarum::text", ""]
    path.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
