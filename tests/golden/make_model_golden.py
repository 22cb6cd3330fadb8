#!/usr/bin/env python3
"""Writes the golden models of tests/model/data: tiny random models with inputs, logits and gradients.

Needs torch and transformers (made with torch 2.15 and transformers 5.24); the tests only read what it
wrote. Usage: make_model_golden.py OUTPUT_DIRECTORY

Each model's directory holds what save_pretrained() writes (config.json, model.safetensors) and
golden.safetensors, all f32:
  tokens           [T]        sequences behind one another
  sequence_starts  [S + 1]
  targets          [N]        indices of the scored tokens: all but the first `prompt` of a sequence
  temperature      [1]
  logits           [T, vocab] at temperature 1
  log_probs        [N]
  entropies        [N]
  grad.<name>      gradient of mean(log_probs) + 0.1 * mean(entropies)
"""
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

CASES = {
    "qwen2_tied": (Qwen2ForCausalLM, Qwen2Config(
        vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-6,
        tie_word_embeddings=True, max_position_embeddings=128, initializer_range=0.15,
        eos_token_id=1, rope_theta=10000.0)),
    # Sizes that fit no vector and no tile, more key-value width than hidden size, one key-value head.
    "llama_odd": (LlamaForCausalLM, LlamaConfig(
        vocab_size=61, hidden_size=30, intermediate_size=42, num_hidden_layers=3,
        num_attention_heads=3, num_key_value_heads=1, head_dim=22, rms_norm_eps=1e-5,
        tie_word_embeddings=False, max_position_embeddings=128, initializer_range=0.2,
        attention_bias=False, eos_token_id=[2, 3], rope_theta=500000.0)),
    "llama_biased": (LlamaForCausalLM, LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=1e-6,
        tie_word_embeddings=False, max_position_embeddings=64, initializer_range=0.2,
        attention_bias=True, eos_token_id=2)),
}
LENGTHS = (5, 33, 1, 16, 47)
PROMPT = 3
TEMPERATURE = 0.8


def randomise(model, generator):
    """Norm weights and biases too: at their usual 1 and 0 an error in them would not show."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.copy_(1 + 0.2 * torch.randn(parameter.shape, generator=generator))
            elif name.endswith(".bias"):
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
            else:
                scale = model.config.initializer_range
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))


def score(model, sequences):
    """Logits of all tokens; log-probabilities and entropies of the targets; each sequence alone."""
    logits, log_probs, entropies, targets, start = [], [], [], [], 0
    for sequence in sequences:
        out = model(sequence[None]).logits[0]
        logits.append(out)
        table = torch.log_softmax(out[PROMPT - 1:-1] / TEMPERATURE, dim=-1)
        wanted = sequence[PROMPT:]
        if len(wanted):
            log_probs.append(table[range(len(wanted)), wanted])
            entropies.append(-(table.exp() * table).sum(-1))
        targets += range(start + PROMPT, start + len(sequence))
        start += len(sequence)
    return torch.cat(logits), torch.cat(log_probs), torch.cat(entropies), targets


def make(directory, model_class, config, seed):
    generator = torch.Generator().manual_seed(seed)
    model = model_class(config).eval()
    randomise(model, generator)
    sequences = [torch.randint(config.vocab_size, (n,), generator=generator) for n in LENGTHS]
    logits, log_probs, entropies, targets = score(model, sequences)
    (log_probs.mean() + 0.1 * entropies.mean()).backward()
    starts = [0]
    for n in LENGTHS:
        starts.append(starts[-1] + n)
    golden = {
        "tokens": torch.cat(sequences).float(),
        "sequence_starts": torch.tensor(starts).float(),
        "targets": torch.tensor(targets).float(),
        "temperature": torch.tensor([TEMPERATURE]),
        "logits": logits.detach(),
        "log_probs": log_probs.detach(),
        "entropies": entropies.detach(),
    }
    for name, parameter in model.named_parameters():
        golden["grad." + name] = parameter.grad
    model.save_pretrained(directory)
    generation_config = os.path.join(directory, "generation_config.json")
    if os.path.exists(generation_config):
        os.remove(generation_config)
    save_file({k: v.contiguous() for k, v in golden.items()},
              os.path.join(directory, "golden.safetensors"))


def main():
    torch.set_num_threads(1)
    for seed, (name, (model_class, config)) in enumerate(CASES.items()):
        make(os.path.join(sys.argv[1], name), model_class, config, seed)


if __name__ == "__main__":
    main()
