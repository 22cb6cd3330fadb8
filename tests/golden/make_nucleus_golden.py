#!/usr/bin/env python3
"""Writes tests/model/data/*/nucleus.safetensors: what torch says of a softmax over a few tokens.

For the tiny models that make_model_golden.py made. Each target has a set of tokens; the logits of all others are
filled with -inf before torch's log_softmax, so that scores and gradients are those of the softmax over the set. Some
targets have an empty set: all tokens count.

  make_nucleus_golden.py DIRECTORY     needs torch and transformers (made with torch 2.15 and transformers 5.24)

  tokens           [T]        sequences behind one another
  sequence_starts  [S + 1]
  targets          [N]        all but the first PROMPT tokens of a sequence
  ids, ends                   the sets behind one another, and where each ends
  temperature      [1]
  log_probs, entropies [N]
  grad.<name>      gradient of sum(a * log_probs) + sum(b * entropies), a and b as in weights_of()
"""
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

CASES = ("qwen2_tied", "llama_odd")
LENGTHS = (9, 4, 17)
PROMPT = 3
TEMPERATURE = 0.7


def draw_set(vocab, token, generator):
    """The token and up to a third of the vocabulary, in rising order; one in five is empty."""
    if torch.rand((), generator=generator) < 0.2:
        return []
    size = int(torch.randint(0, vocab // 3, (), generator=generator))
    return sorted({int(token), *torch.randperm(vocab, generator=generator)[:size].tolist()})


def masked(logits, kept):
    """Entropies are sums of p log p, whose terms of tokens that do not count are 0."""
    if not kept:
        return torch.log_softmax(logits / TEMPERATURE, -1)
    return torch.log_softmax(logits[kept] / TEMPERATURE, -1)


def filled(logits, kept):
    """The same by -inf in the places of the others."""
    if not kept:
        return torch.log_softmax(logits / TEMPERATURE, -1)
    outside = torch.ones_like(logits, dtype=torch.bool)
    outside[kept] = False
    return torch.log_softmax((logits / TEMPERATURE).masked_fill(outside, -torch.inf), -1)


def weights_of(count):
    rows = torch.arange(count, dtype=torch.float64)
    return (0.5 - 0.2 * (rows % 6)) / count, 0.1 * (rows % 4) / count


def make(directory, seed):
    generator = torch.Generator().manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).double().eval()
    vocab = model.config.vocab_size
    tokens, starts, targets, ids, ends, log_probs, entropies = [], [0], [], [], [], [], []
    for length in LENGTHS:
        sequence = torch.randint(vocab, (length,), generator=generator)
        logits = model(sequence[None]).logits[0]
        for place in range(PROMPT, length):
            kept = draw_set(vocab, sequence[place], generator)
            table = filled(logits[place - 1], kept)
            few = masked(logits[place - 1], kept)
            log_probs.append(table[sequence[place]])
            entropies.append(-(few.exp() * few).sum())
            targets.append(starts[-1] + place)
            ids += kept
            ends.append(len(ids))
        tokens.append(sequence)
        starts.append(starts[-1] + length)
    log_probs, entropies = torch.stack(log_probs), torch.stack(entropies)
    a, b = weights_of(len(targets))
    ((a * log_probs).sum() + (b * entropies).sum()).backward()
    as_floats = lambda values: torch.tensor(values).float()
    golden = dict(tokens=torch.cat(tokens).float(), sequence_starts=as_floats(starts), targets=as_floats(targets),
                  ids=as_floats(ids), ends=as_floats(ends), temperature=as_floats([TEMPERATURE]),
                  log_probs=log_probs.detach().float(), entropies=entropies.detach().float())
    for name, parameter in model.named_parameters():
        golden["grad." + name] = parameter.grad.float()
    save_file({k: v.contiguous() for k, v in golden.items()}, os.path.join(directory, "nucleus.safetensors"))


def main():
    torch.set_num_threads(1)
    for seed, name in enumerate(CASES):
        make(os.path.join(sys.argv[1], name), seed)


if __name__ == "__main__":
    main()
