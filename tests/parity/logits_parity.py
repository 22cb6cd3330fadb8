#!/usr/bin/env python3
"""Compares a Hugging Face model directory's logits and greedy answer here with those of transformers, fp32.

Run by hand; needs torch and transformers, and the target rollout_model_logits:
  cmake --build --preset release --target rollout_model_logits
  tests/parity/logits_parity.py DIRECTORY [--program build/tests/rollout/rollout_model_logits]

For prompts of several lengths it compares all logits of the packed forward pass of training, of a prompt read at
once by the engine, and of step-by-step decoding; then a greedy answer; then the model that is written back, which
transformers loads and must compute the same bits with. Prints one line a comparison; exit code 1 if a difference is
above the limit or a token differs.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy
import torch
from transformers import AutoModelForCausalLM

TEXT = ("The slime mould finds the shortest way between its food: it grows along every path at first, and what carries "
        "little withers. Seven plus five is twelve. ")
LIMIT = 1e-4


def make_prompt(directory, vocab_size, length):
    tokenizer = directory / "tokenizer.json"
    if tokenizer.exists():
        from tokenizers import Tokenizer
        encode = Tokenizer.from_file(str(tokenizer)).encode
        ids = encode(TEXT, add_special_tokens=False).ids
        return (ids * (length // len(ids) + 1))[:length]
    generator = torch.Generator().manual_seed(length)
    return torch.randint(vocab_size, (length,), generator=generator).tolist()


class Program:
    def __init__(self, path, directory, scratch):
        self.path, self.directory, self.scratch = path, directory, pathlib.Path(scratch)

    def run(self, what, tokens):
        ids, out = self.scratch / "tokens.txt", self.scratch / "out"
        ids.write_text(" ".join(map(str, tokens)))
        subprocess.run([self.path, self.directory, ids, what, out], check=True)
        return out

    def logits(self, what, tokens):
        return torch.from_numpy(numpy.fromfile(self.run(what, tokens), dtype=numpy.float32)).view(len(tokens), -1)

    def greedy(self, tokens, count):
        return numpy.fromfile(self.run(f"greedy:{count}", tokens), dtype=numpy.int32).tolist()


def load(directory):
    return AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager").eval()


def forward(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0]


def greedy(model, tokens, count):
    with torch.no_grad():
        out = model(torch.tensor([tokens]), use_cache=True)
        answer = [out.logits[0, -1].argmax().item()]
        while len(answer) < count:
            out = model(torch.tensor([answer[-1:]]), past_key_values=out.past_key_values, use_cache=True)
            answer.append(out.logits[0, -1].argmax().item())
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--program", default="build/tests/rollout/rollout_model_logits")
    parser.add_argument("--lengths", type=int, nargs="*", default=[1, 7, 64, 1500])
    parser.add_argument("--greedy", type=int, default=200)
    options = parser.parse_args()
    bad = False
    model = load(options.directory)
    with tempfile.TemporaryDirectory() as scratch:
        program = Program(options.program, options.directory, scratch)
        for length in options.lengths:
            tokens = make_prompt(options.directory, model.config.vocab_size, length)
            expected = forward(model, tokens)
            for what in ("trainer", "prefill", "steps"):
                difference = (program.logits(what, tokens) - expected).abs().max().item()
                bad |= not difference <= LIMIT
                print(f"{length:5} tokens, {what:8} largest difference {difference:.2e}, "
                      f"largest logit {expected.abs().max().item():.1f}", flush=True)
        if options.greedy:
            tokens = make_prompt(options.directory, model.config.vocab_size, 7)
            expected = greedy(model, tokens, options.greedy)
            answer = program.greedy(tokens, options.greedy)
            same = next((i for i, (a, b) in enumerate(zip(answer, expected)) if a != b), len(expected))
            bad |= answer != expected
            print(f"greedy: {same} of {len(expected)} tokens identical")
        tokens = make_prompt(options.directory, model.config.vocab_size, 64)
        expected = forward(model, tokens)
        again = forward(load(program.run("save", tokens)), tokens)
        bad |= not torch.equal(again, expected)
        print("written back: " + ("the same bits" if torch.equal(again, expected) else "OTHER LOGITS"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
