"""Texts for tokenizer_parity.py: made from a seed, so that a run is the same every time."""
import pathlib
import random
import sys
import sysconfig
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
from make_tokenizer_golden import FRAGMENTS, ODD, SCRIPTS  # noqa: E402

EMOJI = ["😀", "👍", "👍🏽", "👩", "👨", "👧", "🏳️", "🌈", "❤️", "🫨", "🩷", "🫩", "🧑🏿", "⚕️", "✈️", "🇩🇪", "🇯🇵", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "#️⃣", "1️⃣", "©️", "🤷🏻‍♀️"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f",
          "\u205f", "\u3000", "\u180e", "\u200b", "\ufeff"]
WORDS = ["self", "return", "if", "for", "int", "x", "foo_bar", "CamelCase", "print", "std::vector", "HTTPServer", "αβγ", "naïve", "don't",
         "I'LL", "they've", "we'd", "'s", "'RE", "ſtraße", "'ſ", "K", "İstanbul", "ǅ", "ﬀ", "中文字", "カタカナ", "हिन्दी", "עברית", "العربية",
         "한국어", "ไทย", "ქართული", "Ångström", "e\u0301te\u0301", "q\u0323\u0307"]
SIGNS = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["==", "!=", "->", "//", "/*", "*/", "...", "<<", ">>=", "«", "»", "„", "“", "—", "€", "№", "±", "×", "∑", "→", "™"]
NUMBERS = ["0", "7", "42", "123", "1234", "12345678", "3.14", "1e-9", "0xFF", "½", "²", "Ⅷ", "㊿", "١٢٣", "४५", "𝟙𝟚", "1_000", "௧"]


def any_character(r, top=0x110000):
    while True:
        c = r.randrange(top)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def script_text(r, _):
    words = r.choice(SCRIPTS).split()
    text = " ".join(r.choices(words, k=r.randint(1, 12)))
    form = r.choice(["", "NFC", "NFD", "NFKC", "NFKD"])
    return unicodedata.normalize(form, text) if form else text


def mixed_normal_forms(r, _):
    return "".join(unicodedata.normalize(r.choice(["NFC", "NFD"]), w) + r.choice(SPACES[:4])
                   for w in r.choices(r.choice(SCRIPTS).split() + WORDS, k=r.randint(2, 10)))


def emoji(r, _):
    return "".join(r.choice(EMOJI) + r.choice(["", "", "\u200d", "\ufe0f", " ", "a", "🏿"]) for _ in range(r.randint(1, 12)))


def code(r, _):
    lines = []
    for _ in range(r.randint(1, 8)):
        indent = r.choice(["", "  ", "    ", "\t", "\t\t", " " * r.randint(0, 20)])
        parts = [r.choice(r.choice([WORDS, SIGNS, NUMBERS, [" "]])) for _ in range(r.randint(1, 14))]
        lines.append(indent + r.choice(["", " "]).join(parts) + r.choice(["", "", " ", ";", " {", "  # x"]))
    return r.choice(["\n", "\r\n", "\n\n"]).join(lines)


def white_space(r, _):
    return "".join(r.choice(SPACES) * r.choice([1, 1, 2, 3, 7, 40]) + r.choice(["", "", "a", "1", "!", "é"]) for _ in range(r.randint(1, 10)))


def digits(r, _):
    return "".join(r.choice(NUMBERS + ["9" * r.randint(1, 20), " ", ",", ".", "a", "%"]) for _ in range(r.randint(1, 15)))


def special_names(r, tokenizer):
    names = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
    parts = [r.choice(r.choice([names[:64], names, WORDS, SPACES, SIGNS])) for _ in range(r.randint(1, 10))]
    if r.random() < 0.3:  # a broken name
        name = r.choice(names)
        parts.append(name[:r.randint(1, len(name))])
    return "".join(parts)


def marks(r, _):
    pool = [chr(c) for c in range(0x300, 0x370)] + [chr(c) for c in (0x591, 0x5B0, 0x64B, 0x93C, 0x94D, 0xDCA, 0x1161, 0x11A8, 0x3099,
                                                                     0x20D0, 0xFE20, 0x1D165, 0x897, 0x8CA, 0x1E08F, 0x10EFD)]
    return "".join(r.choice(pool) if r.random() < 0.6 else any_character(r, 0x2000) for _ in range(r.randint(1, 12)))


def anywhere(r, _):
    return "".join(any_character(r, r.choice([0x80, 0x3000, 0x10000, 0x20000, 0x110000])) for _ in range(r.randint(1, 16)))


def fragments(r, _):
    return "".join(r.choice(FRAGMENTS + WORDS + SIGNS) for _ in range(r.randint(1, 20)))


def long_word(r, _):
    unit = r.choice(["a", "ab", "=", "-", " ", "é", "中", "9", "x1", "\n", "he", "Aa", "\u0301"])
    return unit * r.randint(30, 400) + r.choice(["", "x", " y"])


MAKERS = [script_text, mixed_normal_forms, emoji, code, white_space, digits, special_names, marks, anywhere, fragments, long_word]


def texts(tokenizer, count, seed):
    r = random.Random(seed)
    out = list(ODD) + list(SCRIPTS)
    while len(out) < count:
        out.append(MAKERS[len(out) % len(MAKERS)](r, tokenizer))
    return out


def every_code_point():
    """All of Unicode, in order and each between letters, digits, spaces and signs."""
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    out = []
    for at in range(0, len(points), 512):
        chunk = points[at:at + 512]
        out.append("".join(chunk))
        out.append("".join(f"a{c} {c}b" for c in chunk))
        out.append("".join(f"1{c}!{c}{c} " for c in chunk))
        out.append("".join(f"e{c}\u0301{c}\n" for c in chunk))
    return out


def long_text(megabytes):
    """Code and prose of this Python's own library, with a tenth of other scripts."""
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    files = sorted(library.rglob("*.py"), key=lambda path: (len(path.parts), path.name))
    prose = (library / "pydoc_data/topics.py").read_text("utf-8").replace("\\n", "\n")
    licences = sorted(pathlib.Path("/usr/share/common-licenses").glob("*")) if sys.platform == "linux" else []
    prose += "\n".join(path.read_text("utf-8", "replace") for path in licences if path.is_file() and not path.is_symlink())
    r, out, size, at = random.Random(1), [], 0, 0
    for path in files:
        if size > megabytes * 1e6:
            break
        source = path.read_text("utf-8", "replace")
        piece = prose[at:at + len(source)]
        at = (at + len(source)) % max(1, len(prose) - 100000)
        others = "\n".join(" ".join(r.choices(r.choice(SCRIPTS).split(), k=12)) for _ in range(len(source) // 800))
        out += [source, piece, others, "\n"]
        size += sum(len(part.encode()) for part in out[-4:])
    return "".join(out)
