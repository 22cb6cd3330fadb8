#!/usr/bin/env python3
"""Makes tests/text/data: small tokenizers of several kinds and what Hugging Face's library does with them.

  make_tokenizer_golden.py [DIRECTORY]      needs the Python package tokenizers (made with 0.23.3)

texts.json holds the texts; KIND.tokenizer.json the tokenizers (the built-in one is inputs/model-small);
KIND.golden.json for each: ids of each text with special tokens parsed, with special tokens literal
(only where that differs), and ids with the text that they decode to. Characters newer than Unicode 14
stand only in odd_texts.json, the texts of the kinds at the end.
"""
import json
import pathlib
import random
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import make_builtin_tokenizer as builtin

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLAMA_PATTERN = builtin.PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")

SCRIPTS = """
The quick brown fox doesn't jump; it's lazy, and they've said we'll see. I'D RATHER NOT, YOU'RE RIGHT.
Der Bär fährt über die Brücke, größer als je. ſ und ẞ sind selten.
Les élèves français ont reçu où l'été était déjà là. Ça coûte 5 €.
El pingüino comió ñandú. ¿Qué tal? ¡Muy bien!
Čeština má háčky: příliš žluťoučký kůň. Łódź, zażółć gęślą jaźń.
Tiếng Việt có nhiều dấu thanh: ngữ, khỏe, đẹp.
Σήμερα είναι ωραία μέρα. Ο ήλιος λάμπει.
Сегодня хорошая погода. Ёлка, съезд, объект.
היום יום יפה. שָׁלוֹם
الطقس جميل اليوم. مَرْحَبًا ١٢٣ و ۴۵۶
आज मौसम अच्छा है। क़लम ज़रूर १२३
আজ আবহাওয়া সুন্দর। தமிழ் மொழி இனிது. తెలుగు భాష
วันนี้อากาศดี ๑๒๓ ພາສາລາວ ភាសាខ្មែរ
今天天气很好。数字一二三，标点、符号！
今日は良い天気です。カタカナ、ひらがな、漢字。ﾊﾝｶｸ
오늘 날씨가 좋습니다. 한국어 조합형
ქართული ენა. Հայերեն լեզու. አማርኛ ቋንቋ
ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ. བོད་སྐད། မြန်မာဘာသာ
""".strip().splitlines()

ODD = [
    "", " ", "  ", "   ", "\n", "\n\n\n", "\r\n\r\n", " \n", "\n ", "\t\tx", "a  b", "a   b\n\n  c", "trailing   ",
    "   leading", "\u00a0\u00a0x", "a\u3000b\u3000\u3000c", "x\u2028y\u2029z", "\x0b\x0c\x85", "a\u180eb \u180e c",
    "\u200b\u200c\u200d\ufeff", "nul\x00inside", "\x01\x02\x1f\x7f", "\u0300alone", "e\u0301 vs é, a\u030a å Å",
    "\u1100\u1161\u11a8 각 \uac00\u11a8", "q\u0323\u0307 q\u0307\u0323", "\u0958 \u0915\u093c", "ﬁ ﬀ Ⅳ ½ ² ① ㊿ ㎏",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛", "\ue000\U000f0000\U0010ffff", "\U0001f600\U0001f44d\U0001f3fd", "👩\u200d👩\u200d👧\u200d👦 family",
    "🏳️\u200d🌈🇩🇪🇫🇷 #️⃣", "1234567890", "12 345 6789", "3.14159, -2e10, 0x1F, 1_000", "37+85=", "07*09=63", "99-1=98?",
    "8/2=4.", "37 + 85 = 122", "(12+34)*56=2576", "a1b22c333d4444", "١٢٣٤٥", "x²+y³=z₁", "½+¼=¾",
    "def f(x):\n    return x ** 2  # square\n", "for (int i = 0; i < n; ++i) {\n\ta[i] += b[i];\n}\n",
    "SELECT * FROM t WHERE a='b' AND c>=10;", "<html><body class=\"x\">&amp;</body></html>",
    "https://example.org/path?q=a+b&c=%20#frag", "C:\\dir\\file.txt /usr/bin/env", "!!!???...---===", "...\n...\n", "##\r\n",
    "\"'`´''\u2019s 'S 'LL 'Ve don\u2019t", "'s't're've'm'll'd", "'ſ 'ſtart", "CamelCaseWords snake_case_words kebab-case",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "he" * 40, "ab " * 40, "\n" * 40, " " * 77 + "x",
    "<|im_start|>user\nWhat is 37 plus 85?<|im_end|>\n<|im_start|>assistant\n", "<|endoftext|>", "<|endoftext|><|endoftext|>",
    "x<|pad|>y", "<|im_start|", "<|im_end|>>", "<<|im_end|>", "<|im_<|im_end|>", "a <|endoftext|> b", "<think>\nok\n</think>\n\nyes",
    "<think><think>", "x  <left>y", "x\u3000 \n<left>", "<right>  y", "<right>\n\n <left> z", "<left><right>", "<both> <both>  <both>",
    "word", "sword", "words", "a word.", "word-word word_word", "éword word\u0301 wordé", "1word word2", "word\u200d", "Ångström",
    "A\u030angstro\u0308m x", "A\u030angstro\u0308m<think>e\u0301", "xAngström", "<|long|><|long|>x<|longer|>", "<|longest<|long|>",
]
FRAGMENTS = ["a", "the", " the", "sum", " of", "7", "42", "2024", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "é", "e\u0301", "ß", "中", "文字",
             "ы", "ア", "한", "\u1112\u1161", "م", "\u0301", "😀", "\u200d", "'s", "'LL", "'", "\"", "+", "=", "?", "...", "_", "-", "<",
             "<|im_end|>", "<|endoftext|>", "<think>", "<left>", "<right>", "word", "½", "²", "\u2028", "\u3000", "\x00", "Z", "QQ"]


def texts():
    generator = random.Random(20240117)
    yield from ODD
    for line in SCRIPTS:
        yield line
        yield from line.split(". ")[:2]
        yield unicodedata.normalize("NFD", line[:40])
        yield line[:20].upper()
    for _ in range(150):
        yield "".join(generator.choice(FRAGMENTS) for _ in range(generator.randint(1, 14)))
    for _ in range(60):
        yield "".join(character(generator) for _ in range(generator.randint(1, 8)))


def character(generator):
    while True:
        c = chr(generator.randrange(0x110000 if generator.random() < 0.3 else 0x3000))
        if unicodedata.category(c) not in ("Cn", "Cs"):
            return c


def trained(kind_tokenizer, size):
    tokenizer = kind_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    corpus = list(builtin.corpus())[:120] + SCRIPTS * 3 + [c for c in ODD if "<" in c or "(" in c]
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_level(prefix=False, regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def qwen():
    """NFC, merges as pairs, added tokens of every kind."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(builtin.PATTERN), behavior="isolated"), byte_level()])
    tokenizer = trained(tokenizer, 480)
    tokenizer.add_special_tokens([AddedToken(s, normalized=False) for s in builtin.SPECIAL])
    tokenizer.add_tokens([
        AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False),
        AddedToken("<left>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
        AddedToken("<both>", lstrip=True, rstrip=True, normalized=False),
        AddedToken("word", single_word=True, normalized=True), AddedToken("Ångström", normalized=True),
        AddedToken("<|long|>", normalized=False), AddedToken("<|longer|>", normalized=False)])
    return tokenizer, str


def gpt2():
    """ByteLevel with its own pattern and a space in front; merges as "a b"; the special token in the vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = byte_level(prefix=True, regex=True)
    tokenizer = trained(tokenizer, 420)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    value = json.loads(tokenizer.to_str())
    value["model"]["vocab"]["<|endoftext|>"] = len(value["model"]["vocab"])
    tokenizer = Tokenizer.from_str(json.dumps(value))
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", normalized=False)])

    def old_merges(text):
        old = json.loads(text)
        old["model"]["merges"] = ["#version: 0.2"] + [" ".join(pair) for pair in old["model"]["merges"]]
        for key in ("type", "ignore_merges", "byte_fallback"):
            del old["model"][key]
        return json.dumps(old)
    return tokenizer, old_merges


def llama():
    """ignore_merges with words that no merge makes; numbers in threes; a template that adds a token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA_PATTERN), behavior="isolated"), byte_level()])
    tokenizer = trained(tokenizer, 440)
    value = json.loads(tokenizer.to_str())
    value["model"]["ignore_merges"] = True
    for word in ["2024", "122", "123", "Ġassistant", "Ġquick", "return", "CamelCaseWords", "ĊĊ", "<|"]:
        value["model"]["vocab"].setdefault(word, len(value["model"]["vocab"]))
    tokenizer = Tokenizer.from_str(json.dumps(value))
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|endoftext|>", "<|im_end|>"])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))])])
    return tokenizer, str


def stages():
    """Several splits in a row with each behaviour, literal patterns and digits."""
    split = pre_tokenizers.Split
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        split(Regex(r"\p{N}{1,3}"), behavior="isolated"), split(Regex("[一-龥぀-ゟ゠-ヿ]+"), behavior="isolated"),
        split("=", behavior="merged_with_previous"), split("(", behavior="merged_with_next"),
        split(Regex(r"[+\-*/.!]"), behavior="contiguous"), split("\x00", behavior="removed"),
        split(Regex(r"[^\s]+|\s+"), behavior="removed", invert=True),
        split(Regex(r"[\p{L}\p{M}]+|\s"), behavior="merged_with_previous", invert=True),
        pre_tokenizers.Digits(individual_digits=True), byte_level(regex=True)])
    return trained(tokenizer, 400), str


# Characters of Unicode 15 to 16 of all categories, and marks that the library's normaliser (Unicode 9) does not move.
NEW = ["\u0897", "\u1c89\u1c8a", "\ua7cb\ua7da", "\U000105c0\U000105f3", "\U00010d40\U00010d4e", "\U00011bf0", "\U00013460",
       "\U00031350\U0002ebf0", "\U0001b132\U0001b155", "\U0001e4d0\U0001e4f0", "\U0001fae8\U0001fa77\U0001fae9", "\U0001cc00",
       "\u2ffc", "\U00010efd\u0323", "a\U0001e08f\u0323", "a\u0323\u08ca\u0301\u0323", "a\u08ca\u0323", "\U00011935\U00011930",
       "\U00011938", "\u32ff", "\ua7f2", "\U0001e030", "e\u1ac1\u0323\u0301", "\U00011f41\u0301", "\u0cf3\u0301"]
OTHER_PATTERN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                 r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                 r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_PATTERN = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")


def odd_texts():
    generator = random.Random(20240118)
    pool = NEW + FRAGMENTS + ["\x04", "\x13", "ﬁ", "㎏", "①", "Ⅳ", "Å", "q\u0323\u0307", "\U000f0000", "\U0010ffff", "\U00040000", "xx", "x", "<s>",
                              "<a b>", "  <l>", "<r>  ", "<w>", "<lr>", "\t<lr>\n", "Ａ", "<ﬁn>", "<fin>", "AbC", "DEF", "gHI'S", "漢字", "ひら", "/"]
    yield from NEW
    yield from ("x", "xx", "axxb", "xaxb x", "abc", "a1b22", "", " ", "x ", "<w><w>", "a<w>", "<w>b", "é<w>", "Ⓐ<w>", "🅐<w>", "\u0301<w>", "\u200d<w>", "½<w>", "_<w>",
                "-<w>-", "<l> <r>", "<r> <l>", "<lr> <lr>", " <l>  <l>", "<a b><a  b>", "<s><s", "\u3000<l>\u180e<l>", "<r>\u180e<r>\x85")
    for _ in range(70):
        yield "".join(generator.choice(pool) for _ in range(generator.randint(1, 9)))


def without_bytes(text, changes):
    """The vocabulary without tokens for some bytes, and other changes of the model."""
    value = json.loads(text)
    alphabet = [c for c in value["model"]["vocab"] if len(c) == 1]
    gone = {c for c in alphabet if c in "ĄēòóôÉÍ%QŁ"}
    kept = [t for t in value["model"]["vocab"] if not gone & set(t)] + ["<unk>"]
    value["model"]["vocab"] = {t: i for i, t in enumerate(kept)}
    value["model"]["merges"] = [m for m in value["model"]["merges"] if not gone & set("".join(m))]
    value["model"].update(changes)
    return json.dumps(value)


def with_added(tokenizer):
    tokenizer.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("<a b>", normalized=True)])
    tokenizer.add_tokens([AddedToken("<l>", lstrip=True, normalized=False), AddedToken("<r>", rstrip=True, normalized=True),
                          AddedToken("<lr>", lstrip=True, rstrip=True, normalized=True),
                          AddedToken("<w>", single_word=True, normalized=False), AddedToken("<ﬁn>", normalized=True),
                          AddedToken("  ", normalized=False)])
    return tokenizer, str


def unknown():
    """Bytes without a token become the unknown one; compatibility composition."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = byte_level(regex=True)
    return with_added(Tokenizer.from_str(without_bytes(trained(tokenizer, 300).to_str(), {"unk_token": "<unk>"})))


def fused():
    """The same with one unknown token for a row of them; decomposition; a pattern that the program has no code for."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.NFD()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(OTHER_PATTERN), behavior="isolated"), byte_level()])
    changes = {"unk_token": "<unk>", "fuse_unk": True}
    return with_added(Tokenizer.from_str(without_bytes(trained(tokenizer, 300).to_str(), changes)))


def dropped():
    """Bytes without a token are left out; three stages as DeepSeek has them; a decoder inside a sequence."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        split(Regex(r"\p{N}{1,3}"), behavior="isolated"), split(Regex("[一-龥\u3040-ゟ゠-ヿ]+"), behavior="isolated"),
        split(Regex(DEEPSEEK_PATTERN), behavior="isolated"), byte_level()])
    value = json.loads(without_bytes(trained(tokenizer, 300).to_str(), {"unk_token": None}))
    value["decoder"] = {"type": "Sequence", "decoders": [value["decoder"]]}
    return with_added(Tokenizer.from_str(json.dumps(value)))


def empty_matches():
    """Patterns that match nothing in between, with each behaviour that minds; scripts; a space before each piece."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFKD()
    split = pre_tokenizers.Split
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        split(Regex(r"\p{Han}+|[\p{Hiragana}\p{Katakana}]+"), behavior="isolated"), split(Regex(r"\d"), behavior="contiguous", invert=True),
        split(Regex("(?=x)|x{3}"), behavior="contiguous"), split(Regex(r"(?<=[<>])|\P{L}{4}"), behavior="merged_with_next"),
        split(Regex(r"b*"), behavior="merged_with_previous"), split(Regex(r"(?=\.)"), behavior="removed"), byte_level(prefix=True, regex=False)])
    return with_added(trained(tokenizer, 300))


def golden(tokenizer, all_texts, seed):
    parsed = [tokenizer.encode(text, add_special_tokens=False).ids for text in all_texts]
    tokenizer.encode_special_tokens = True
    literal = {}
    for i, text in enumerate(all_texts):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if ids != parsed[i]:
            literal[str(i)] = ids
    generator = random.Random(seed)
    decoded = []
    for _ in range(40):
        ids = [generator.randrange(256 if generator.random() < 0.7 else tokenizer.get_vocab_size()) for _ in range(12)]
        decoded.append([ids, tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids, skip_special_tokens=True)])
    return {"parsed": parsed, "literal": literal, "decoded": decoded}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/text/data"
    directory.mkdir(parents=True, exist_ok=True)
    all_texts = list(dict.fromkeys(texts()))
    write(directory / "texts.json", all_texts)
    small = Tokenizer.from_file(str(ROOT / "inputs/model-small/tokenizer.json"))
    write(directory / "builtin.golden.json", golden(small, all_texts, 0))
    for seed, make in enumerate((qwen, gpt2, llama, stages), 1):
        tokenizer, rewrite = make()
        text = json.dumps(json.loads(rewrite(tokenizer.to_str())), ensure_ascii=True, separators=(",", ":"))
        (directory / f"{make.__name__}.tokenizer.json").write_text(text + "\n")
        write(directory / f"{make.__name__}.golden.json", golden(Tokenizer.from_str(text), all_texts, seed))
    odd = list(dict.fromkeys(odd_texts()))
    write(directory / "odd_texts.json", odd)
    for seed, make in enumerate((unknown, fused, dropped, empty_matches), 5):
        tokenizer, _ = make()
        text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=True, separators=(",", ":"))
        (directory / f"{make.__name__}.tokenizer.json").write_text(text + "\n")
        write(directory / f"{make.__name__}.golden.json", golden(Tokenizer.from_str(text), odd, seed))


if __name__ == "__main__":
    main()
