#!/usr/bin/env python3
"""Makes tests/text/corpus/tokenizer: small tokenizer files with a text each, for the fuzz target of that name.

  make_tokenizer_corpus.py [DIRECTORY]

The form of the files stands in fuzz_tokenizer.cpp: whole tokenizer files with a text, and parts that the target makes
a file of. The vocabularies have few bytes, so that changes at random hit what matters.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def split(pattern, behavior="Isolated", invert=False):
    kind = "Regex" if isinstance(pattern, str) else "String"
    return {"type": "Split", "pattern": {kind: pattern if kind == "Regex" else pattern[0]}, "behavior": behavior, "invert": invert}


def byte_level(**changes):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False, **changes}


def tokenizer(stages, normalizer=None, added=(), pairs=True, **model):
    words = ["a", "b", "c", "Ġ", "<", ">", "1", "2", "'", "s", "Ã", "©", "Ċ", "ab", "abc", "Ġa", "12", "Ã©", "'s", "ĠĠ"]
    merges = ["a b", "ab c", "Ġ a", "1 2", "Ã ©", "' s", "Ġ Ġ"]
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": len(words) + i, "content": content, "single_word": "w" in flags, "lstrip": "l" in flags,
                          "rstrip": "r" in flags, "normalized": "n" in flags, "special": "s" in flags}
                         for i, (content, flags) in enumerate(added)],
        "normalizer": normalizer, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*stages, byte_level()]},
        "post_processor": None, "decoder": byte_level(),
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {word: i for i, word in enumerate(words)},
                  "merges": [merge.split() for merge in merges] if pairs else merges, **model}}


CASES = {
    "plain": (tokenizer([]), "", "abcab 12'sé"),
    "gpt2": (tokenizer([byte_level(use_regex=True)]) | {"pre_tokenizer": byte_level(use_regex=True, add_prefix_space=True)}, "", "abc ab  12's\n\nab"),
    "words": (tokenizer([split(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+")],
                        {"type": "NFC"}, pairs=False), "", "ab e\u0301 \u0323a 12 <é>\r\n  a"),
    "stages": (tokenizer([{"type": "Digits", "individual_digits": True}, split(["ab"], "MergedWithNext"), split("b*", "Contiguous"),
                          split(r"(?i:A)|\s", "Removed"), split("[^a-c1]", "MergedWithPrevious", True)]), "", "abcabb1 12Ab aa"),
    "added": (tokenizer([], {"type": "Sequence", "normalizers": [{"type": "NFKD"}]},
                        [("<s>", "s"), ("<l>", "l"), ("<r>", "rn"), ("<w>", "w"), ("é", "n"), ("<<", "n"), ("<s><s>", "")]), "",
              "a <l>\u3000<r> b<w><s><s><s>é e\u0301<"),
    "unknown": (tokenizer([], None, [("<s>", "s")], unk_token="c", fuse_unk=True, ignore_merges=True),
                json.dumps({"eos_token": "<s>", "pad_token": {"content": "a"}, "added_tokens_decoder": {
                    "20": {"content": "<s>", "rstrip": True, "special": True}, "21": {"content": "<t>", "special": False}}}),
                "xyz<s> <t>abc中a"),
}

# Letters, pattern, added tokens, text.
PARTS = {
    "parts_isolated": ("1c", r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+", "s:<s>|ln:<l>",
                       "ab abc <s> 12\u0301e\u0301  <l> \r\n a"),
    "parts_behaviours": ("01234pgD", r"(?<=b)|a*?c|(?i:[^ab-c\d]++)", "rn:<r>|w:ab|:  ", "abcabcab 12 <r>   ab ac"),
    "parts_inverted": ("24vikuf", r"\p{Han}+|\P{Ll}|(?=x)|\x{41}?", "lr:\u00e9|n:\ufb01|w:\u4e2d", "a\u4e2d\ufb01 xyz\u00e9 Aab"),
    "parts_string": ("013sd", "a.b", "s:<|s:<<|s:<<>", "a.ba.bb<<<>>< a.b\U0001f600"),
}


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/text/corpus/tokenizer"
    directory.mkdir(parents=True, exist_ok=True)
    for name, (value, config, text) in CASES.items():
        content = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (directory / name).write_bytes(f"{content}\0{config}\0{text}".encode())
    for name, lines in PARTS.items():
        (directory / name).write_bytes("\n".join(lines).encode())


if __name__ == "__main__":
    main()
