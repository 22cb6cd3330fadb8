#!/usr/bin/env python3
"""Takes real steps of AdamW and writes the weights before and after the last one, as bf16 images.

  adam_steps.py MODEL OUT [--steps N] LR...      MODEL: a Hugging Face directory, or "random-25m"

For each learning rate OUT/LR.before and OUT/LR.after: all parameters one after the other, little-endian bf16, rounded
from the fp32 masters as a trainer does. The loss is a policy gradient on text (Python's own documentation) with random
advantages; the steps are enough for Adam's moments to be those of a long run.
"""
import argparse
import pathlib
import pydoc_data.topics

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config, Qwen2ForCausalLM


def load(name):
    torch.manual_seed(1)
    if name != "random-25m":
        return AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
    return Qwen2ForCausalLM(Qwen2Config(
        hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2,
        vocab_size=16384, max_position_embeddings=1024, tie_word_embeddings=True)).float()


def text_tokens(name, vocabulary):
    """Token ids of the text; pairs of bytes for the random model, which has no tokenizer."""
    text = "\n".join(pydoc_data.topics.topics[key] for key in sorted(pydoc_data.topics.topics))
    if name != "random-25m":
        return torch.tensor(AutoTokenizer.from_pretrained(name)(text[:400_000])["input_ids"])
    raw = torch.tensor(list(text.encode()[:400_000]))
    return (raw[0::2] * 256 + raw[1::2]) % vocabulary


def image(model):
    return torch.cat([p.detach().to(torch.bfloat16).view(torch.int16).flatten() for p in model.parameters()])


def step(model, optimiser, tokens, advantages):
    logits = model(tokens).logits[:, :-1]
    chosen = torch.log_softmax(logits, -1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    loss = -(advantages[:, None] * chosen).mean()
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("rates", nargs="+")
parser.add_argument("--steps", type=int, default=40)
arguments = parser.parse_args()
arguments.out.mkdir(parents=True, exist_ok=True)
for rate in arguments.rates:
    policy = load(arguments.model)
    policy.train()
    adam = torch.optim.AdamW(policy.parameters(), lr=float(rate), betas=(0.9, 0.98), weight_decay=0.1)
    generator = torch.Generator().manual_seed(7)
    text = text_tokens(arguments.model, policy.config.vocab_size)
    for number in range(arguments.steps):
        starts = torch.randint(0, len(text) - 48, (4,), generator=generator)
        tokens = torch.stack([text[start : start + 48] for start in starts])
        advantages = torch.randn(4, generator=generator)
        before = image(policy)
        step(policy, adam, tokens, advantages)
    after = image(policy)
    before.numpy().tofile(arguments.out / f"{rate}.before")
    after.numpy().tofile(arguments.out / f"{rate}.after")
    print(f"{rate}: {(before != after).float().mean().item():.4%} of {before.numel()} changed", flush=True)
