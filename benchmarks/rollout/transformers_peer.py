#!/usr/bin/env python3
"""transformers' generate() in fp32, greedy, without end token; or what torch's matrix product can do at most.

  transformers_peer.py batch MODEL [--prompts N] [--context N] [--tokens N] [--threads N]
  transformers_peer.py limits [--threads N]
"""
import argparse
import json
import os
import sys
import time

from prompts import make_prompt


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["batch", "limits"])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--context", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def measure_limits():
    """The fastest of some products, the larger of two shapes."""
    import torch
    rates = []
    for rows, inner, columns in ((1024, 1024, 1024), (512, 1024, 4096)):
        a, b = torch.randn(rows, inner), torch.randn(inner, columns)
        best = float("inf")
        for _ in range(30):
            begin = time.perf_counter()
            torch.mm(a, b)
            best = min(best, time.perf_counter() - begin)
        rates.append(2e-9 * rows * inner * columns / best)
    print(json.dumps({"engine": "torch", "what": "limits", "product_gflops": max(rates)}))


def measure_batch(args):
    import torch
    import transformers
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32).eval()
    prompts = torch.tensor([make_prompt(p, args.context, model.config.vocab_size) for p in range(args.prompts)])

    def generate(tokens):
        return model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=False, eos_token_id=None,
                              pad_token_id=0, min_new_tokens=tokens, max_new_tokens=tokens)[:, args.context:]

    with torch.inference_mode():
        generate(2)
        begin = time.perf_counter()
        answers = generate(args.tokens)
        seconds = time.perf_counter() - begin
    if answers.shape != (args.prompts, args.tokens):
        sys.exit(f"peer: answers have shape {tuple(answers.shape)}, not {(args.prompts, args.tokens)}")
    print("peer: transformers", transformers.__version__, "torch", torch.__version__, file=sys.stderr)
    print(json.dumps({"engine": "transformers", "what": "batch",
                      "tokens_per_s": args.prompts * args.tokens / seconds, "answers": answers.tolist()}))


def main():
    args = arguments()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    import torch
    torch.set_num_threads(args.threads)
    if args.mode == "limits":
        measure_limits()
    else:
        measure_batch(args)


main()
