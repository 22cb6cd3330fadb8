#!/usr/bin/env python3
"""llama.cpp through the batch calls of llama-cpp-python; one JSON line a figure, as engine_figures prints them.

  llama_peer.py decode|prefill|batch MODEL.gguf STORAGE [--context N] [--tokens N] [--parallel 64,32,8,1]
                [--prompts N] [--threads N] [--cache f32|f16] [--flash auto|off|on] [--repeats N]
"""
import argparse
import ctypes
import json
import statistics
import sys
import time

import llama_cpp as llama
import numpy

from prompts import make_prompt

PREFILL_TOKENS = 512  # llama.cpp's own default for a physical batch


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["decode", "prefill", "batch"])
    parser.add_argument("model")
    parser.add_argument("storage")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--parallel", type=lambda text: [int(n) for n in text.split(",")], default=[64, 32, 8, 1])
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cache", choices=["f32", "f16"], default="f16")
    parser.add_argument("--flash", choices=["auto", "off", "on"], default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


@llama.llama_log_callback
def say_nothing(level, text, _):
    if level == 4:  # an error; 5 goes on with the line before
        sys.stderr.write(text.decode())


class Engine:
    """A context with a cache of its own for each of `sequences` sequences."""

    def __init__(self, args, sequences, tokens):
        llama.llama_log_set(say_nothing, ctypes.c_void_p(0))
        llama.llama_backend_init()
        self.model = llama.llama_model_load_from_file(args.model.encode(), llama.llama_model_default_params())
        if not self.model:
            sys.exit(f"peer: llama.cpp does not load {args.model}")
        params = llama.llama_context_default_params()
        each = -(-tokens // 256) * 256
        params.n_ctx = sequences * each
        params.n_batch = max(PREFILL_TOKENS, sequences)
        params.n_ubatch = PREFILL_TOKENS
        params.n_seq_max = sequences
        params.n_outputs_max = sequences
        params.n_threads = params.n_threads_batch = args.threads
        params.type_k = params.type_v = {"f32": 0, "f16": 1}[args.cache]
        params.flash_attn_type = {"auto": -1, "off": 0, "on": 1}[args.flash]
        params.kv_unified = False
        self.context = llama.llama_init_from_model(self.model, params)
        if not self.context:
            sys.exit("peer: llama.cpp makes no context")
        self.memory = llama.llama_get_memory(self.context)
        self.vocab_size = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))
        self.batch = llama.llama_batch_init(params.n_batch, 0, 1)

    def step(self, rows):
        """rows: (token, position, sequence, wanted). The likeliest next token of each wanted one."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wanted
        if llama.llama_decode(self.context, batch) != 0:
            sys.exit("peer: llama_decode failed")
        count = sum(row[3] for row in rows)
        if count == 0:
            llama.llama_synchronize(self.context)
            return []
        logits = numpy.ctypeslib.as_array(llama.llama_get_logits(self.context), (count, self.vocab_size))
        return logits.argmax(axis=1).tolist()

    def read_prompt(self, prompt, sequence):
        """The first new token."""
        for first in range(0, len(prompt), PREFILL_TOKENS):
            end = min(first + PREFILL_TOKENS, len(prompt))
            drawn = self.step([(prompt[t], t, sequence, int(t + 1 == len(prompt))) for t in range(first, end)])
        return drawn[0]

    def forget(self, sequence):
        llama.llama_memory_seq_rm(self.memory, sequence, -1, -1)


def measure_decode(args):
    """One prompt is read and its keys and values copied to every sequence; then decoding alone is timed, first
    with all sequences, then with fewer, each number for as many steps."""
    sequences = args.parallel[0]
    engine = Engine(args, sequences, args.context + 2 + len(args.parallel) * args.tokens)
    drawn = [engine.read_prompt(make_prompt(0, args.context, engine.vocab_size), 0)] * sequences
    for sequence in range(1, sequences):
        llama.llama_memory_seq_cp(engine.memory, 0, sequence, -1, -1)
    position = args.context

    def decode(count):
        nonlocal drawn, position
        drawn = engine.step([(drawn[s], position, s, 1) for s in range(count)])
        position += 1

    decode(sequences)
    left = sequences
    for count in args.parallel:
        while left > count:
            left -= 1
            engine.forget(left)
        begin = time.perf_counter()
        for _ in range(args.tokens):
            decode(count)
        seconds = time.perf_counter() - begin
        print(json.dumps({"engine": "llama.cpp", "what": "decode", "storage": args.storage, "flash": args.flash,
                          "context": args.context, "sequences": count, "tokens_per_s": count * args.tokens / seconds}))


def measure_prefill(args):
    engine = Engine(args, 1, args.context + 1)
    seconds = []
    for i in range(args.repeats + 1):
        prompt = make_prompt(i, args.context, engine.vocab_size)
        engine.forget(0)
        begin = time.perf_counter()
        engine.read_prompt(prompt, 0)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"engine": "llama.cpp", "what": "prefill", "storage": args.storage, "flash": args.flash,
                      "context": args.context, "tokens_per_s": args.context / statistics.median(seconds[1:])}))


def measure_batch(args):
    """From prompts to complete answers, as transformers_peer.py; its answers show that the model is the same."""
    engine = Engine(args, args.prompts, args.context + args.tokens)
    begin = time.perf_counter()
    drawn = [engine.read_prompt(make_prompt(p, args.context, engine.vocab_size), p) for p in range(args.prompts)]
    answers = [[token] for token in drawn]
    for position in range(args.context, args.context + args.tokens - 1):
        drawn = engine.step([(drawn[p], position, p, 1) for p in range(args.prompts)])
        for answer, token in zip(answers, drawn):
            answer.append(token)
    seconds = time.perf_counter() - begin
    print(json.dumps({"engine": "llama.cpp", "what": "batch", "storage": args.storage,
                      "tokens_per_s": args.prompts * args.tokens / seconds, "answers": answers}))


def main():
    args = arguments()
    {"decode": measure_decode, "prefill": measure_prefill, "batch": measure_batch}[args.mode](args)


main()
