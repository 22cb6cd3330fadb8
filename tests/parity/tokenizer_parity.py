#!/usr/bin/env python3
"""Our tokenizer against Hugging Face's library on whole vocabularies: ids, decoded text, speed, time to load.

  tokenizer_parity.py DRIVER DIRECTORY... [--texts N] [--seed S] [--megabytes M] [--no-speed] [--every-code-point]

DRIVER is build/tests/text/tokenizer_driver, each DIRECTORY holds a tokenizer.json (tokenizer_vocabularies.py makes
some). Needs the Python package tokenizers (results in docs/tokenizer.md are of 0.23.3). Ends with code 1 if any text
differs. What must hold for each text, with special tokens parsed and with them literal:
  the same ids; decoding gives what the library decodes; and that is the normalised text itself.
The last is asked only of texts whose bytes all have tokens: the library leaves the others out, and so do we.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from tokenizers import Tokenizer

import tokenizer_texts


def ask(driver, path, texts):
    data = b"".join(struct.pack("<I", len(t)) + t for t in (text.encode() for text in texts))
    run = subprocess.run([driver, "encode", str(path)], input=data, stdout=subprocess.PIPE, check=True)
    at = 0

    def take(size):
        nonlocal at
        at += size
        return run.stdout[at - size:at]
    for _ in texts:
        answers = []
        for _ in range(2):
            (count,) = struct.unpack("<I", take(4))
            ids = list(struct.unpack(f"<{count}i", take(4 * count)))
            (size,) = struct.unpack("<I", take(4))
            answers.append((ids, take(size).decode("utf-8")))
        yield answers
    assert at == len(run.stdout)


def compare(driver, path, texts):
    library = Tokenizer.from_file(str(path))
    vocabulary = library.get_vocab(with_added_tokens=False)
    missing = {byte for c, byte in byte_alphabet().items() if c not in vocabulary}
    normalize = library.normalizer.normalize_str if library.normalizer else str
    wrong = {"ids": [], "decoded": [], "round trip": []}
    skipped = 0
    for text, answers in zip(texts, ask(driver, path, texts)):
        for literal, (ids, decoded) in enumerate(answers):
            library.encode_special_tokens = bool(literal)
            expected = library.encode(text, add_special_tokens=False).ids
            if ids != expected:
                wrong["ids"].append((text, ids, expected))
            if decoded != library.decode(ids, skip_special_tokens=False):
                wrong["decoded"].append((text, decoded, library.decode(ids, skip_special_tokens=False)))
            if missing & set(text.encode()):
                skipped += 1
            elif decoded != normalize(text):
                wrong["round trip"].append((text, decoded, normalize(text)))
    print(f"  {len(texts)} texts, twice: " + ", ".join(f"{len(bad)} wrong {name}" for name, bad in wrong.items())
          + (f" ({skipped} with bytes that have no token)" if skipped else ""))
    for name, bad in wrong.items():
        for text, ours, theirs in bad[:3]:
            print(f"    {name}: {ascii(text)[:200]}\n      ours   {ascii(ours)[:200]}\n      theirs {ascii(theirs)[:200]}")
    return sum(map(len, wrong.values()))


def byte_alphabet():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(0x100) if b not in plain]
    return {**{chr(b): b for b in plain}, **{chr(0x100 + i): b for i, b in enumerate(others)}}


def measure(driver, path, text):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        run = subprocess.run([driver, "speed", str(path), file.name], stdout=subprocess.PIPE, check=True, text=True)
    print(f"  {run.stdout.strip()}; file of {path.stat().st_size / 1e6:.1f} MB")
    library = Tokenizer.from_file(str(path))
    size = min(len(text), 2_000_000)
    pieces = [text[i:i + 65536] for i in range(0, size, 65536)]
    begin = time.perf_counter()
    for piece in pieces:
        library.encode(piece, add_special_tokens=False)
    elapsed = time.perf_counter() - begin
    print(f"  the library, from Python, one thread: {sum(len(p.encode()) for p in pieces) / 1e6 / elapsed:.2f} MB/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver")
    parser.add_argument("directory", nargs="+", type=pathlib.Path)
    parser.add_argument("--texts", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--every-code-point", action="store_true")
    options = parser.parse_args()
    long_text = "" if options.no_speed else tokenizer_texts.long_text(options.megabytes)
    wrong = 0
    for directory in options.directory:
        path = directory / "tokenizer.json"
        print(directory.name, flush=True)
        texts = tokenizer_texts.texts(Tokenizer.from_file(str(path)), options.texts, options.seed)
        if long_text:
            texts += [long_text[i:i + 20000] for i in range(0, len(long_text), 200000)]
        wrong += compare(options.driver, path, texts)
        if options.every_code_point:
            wrong += compare(options.driver, path, tokenizer_texts.every_code_point())
        if long_text:
            measure(options.driver, path, long_text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
