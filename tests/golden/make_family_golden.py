#!/usr/bin/env python3
"""Writes the golden models of every family, tests/model/data/family: tiny random models with inputs and what
transformers makes of them.

Needs torch and transformers (made with torch 2.15 and transformers 5.24); the tests only read what it wrote.
Usage: make_family_golden.py OUTPUT_DIRECTORY [CASE...]

Each model's directory holds what save_pretrained() writes (config.json, model.safetensors in bf16) and
golden.safetensors, all f32:
  tokens_<n>          [n]         prompts of 1, 7, 64 and 1500 tokens
  logits_<n>          [n, vocab]  of the first three; of the longest:
  rows_1500           [R]         some rows
  logits_1500         [R, vocab]  their logits
  projection          [vocab]     a unit vector
  projected_1500      [1500]      the logits of every row times the projection
  greedy              [200]       the likeliest tokens behind the prompt of 7
  log_probs           [70]        of the tokens of the first three prompts, each from its second on
  grad.<name>         gradient of mean(log_probs)
and for models with experts
  balance_losses      [3]         load_balancing_loss_func of each of the three prompts alone
  balance_factors     [3]
  balance_grad.<name> gradient of sum(balance_factors * balance_losses), where it is not zero
Names are those of model.safetensors. A seed with which a greedy token or the choice of an expert hangs by a thread
is left for the next one: there the difference would not be one of precision.
"""
import importlib
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import transformers
from safetensors.torch import load_file, save_file

SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=2048, eos_token_id=1, bos_token_id=0)
SPARSE = dict(SIZES, hidden_size=24, num_hidden_layers=3)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=256)
CASES = {
    "qwen2": ("Qwen2", dict(SIZES, tie_word_embeddings=True)),
    # The first layer sees everything, the others 24 tokens.
    "qwen2_window": ("Qwen2", dict(SIZES, num_hidden_layers=3, use_sliding_window=True, sliding_window=24,
                                   max_window_layers=1)),
    "qwen3": ("Qwen3", dict(SIZES, head_dim=12, tie_word_embeddings=True, rope_theta=1000000.0)),
    "qwen3_window": ("Qwen3", dict(SIZES, head_dim=8, attention_bias=True, use_sliding_window=True, sliding_window=37,
                                   layer_types=["sliding_attention", "full_attention"])),
    "llama3": ("Llama", dict(SIZES, tie_word_embeddings=True, mlp_bias=True, head_dim=16, rope_parameters=LLAMA3)),
    "llama_linear": ("Llama", dict(SIZES, attention_bias=True, head_dim=10,
                                   rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0))),
    "mistral": ("Mistral", dict(SIZES, sliding_window=None, head_dim=12)),
    "mistral_window": ("Mistral", dict(SIZES, sliding_window=50, num_key_value_heads=1)),
    "qwen3_moe": ("Qwen3Moe", dict(SPARSE, head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=20,
                                   norm_topk_prob=True, mlp_only_layers=[1], tie_word_embeddings=True)),
    "qwen3_moe_raw": ("Qwen3Moe", dict(SPARSE, head_dim=8, num_experts=5, num_experts_per_tok=3,
                                       moe_intermediate_size=16, norm_topk_prob=False, decoder_sparse_step=2,
                                       use_sliding_window=True, sliding_window=20)),
    "mixtral": ("Mixtral", dict(SPARSE, num_hidden_layers=2, intermediate_size=24, num_local_experts=4,
                                num_experts_per_tok=2)),
    "mixtral_window": ("Mixtral", dict(SPARSE, num_hidden_layers=2, intermediate_size=24, num_local_experts=4,
                                       num_experts_per_tok=2, sliding_window=33, head_dim=8)),
}
LENGTHS = (1, 7, 64, 1500)
LEARNT = LENGTHS[:3]
BALANCE_FACTORS = (1.0, 0.5, -0.25)
GREEDY_TOKENS = 200
SMALLEST_MARGIN = 1e-3
SMALLEST_CHOICE = 2e-6


class Unlucky(Exception):
    pass


def make_model(name, fields, generator):
    config = getattr(transformers, name + "Config")(**fields)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = getattr(transformers, name + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter_name.endswith("norm.weight"):
                value = 1 + 0.2 * noise
            elif parameter_name.endswith(".bias"):
                value = 0.2 * noise
            else:
                value = 0.3 * noise
            parameter.copy_(value.bfloat16().float())  # so that model.safetensors holds it exactly
    return model


def saved_parts(name, tensor):
    """A parameter under the names of the file: experts are one tensor in memory, many on disk."""
    prefix, _, kind = name.rpartition(".")
    if kind not in ("gate_up_proj", "down_proj") or not prefix.endswith("experts"):
        yield name, tensor
        return
    for expert in range(tensor.shape[0]):
        parts = tensor[expert].chunk(2) if kind == "gate_up_proj" else (tensor[expert],)
        for part, part_name in zip(parts, ("gate_proj", "up_proj") if len(parts) == 2 else ("down_proj",)):
            yield f"{prefix}.{expert}.{part_name}.weight", part


def saved_name(name, model_type):
    if model_type != "mixtral":
        return name
    for memory, disk in ((".mlp.", ".block_sparse_moe."), (".gate_proj.", ".w1."), (".up_proj.", ".w3."),
                         (".down_proj.", ".w2.")):
        name = name.replace(memory, disk)
    return name


def gradients(model, prefix, golden):
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            continue
        for part_name, part in saved_parts(name, parameter.grad):
            if prefix == "grad." or part.abs().max() > 0:
                golden[prefix + saved_name(part_name, model.config.model_type)] = part.clone()
    model.zero_grad(set_to_none=True)


def check_choices(model, prompts):
    if getattr(model.config, "num_experts_per_tok", None) is None:
        return
    chosen = model.config.num_experts_per_tok
    for prompt in prompts:
        with torch.no_grad():
            for logits in model(prompt[None], output_router_logits=True).router_logits:
                probabilities = torch.softmax(logits, -1).sort(-1, descending=True).values
                if (probabilities[:, chosen - 1] - probabilities[:, chosen]).min() < SMALLEST_CHOICE:
                    raise Unlucky("the choice of an expert")


def likeliest(model, prompt):
    tokens = prompt.tolist()
    for _ in range(GREEDY_TOKENS):
        with torch.no_grad():
            best = model(torch.tensor([tokens])).logits[0, -1].topk(2)
        if best.values[0] - best.values[1] < SMALLEST_MARGIN:
            raise Unlucky("a greedy token")
        tokens.append(best.indices[0].item())
    check_choices(model, [torch.tensor(tokens)])
    return tokens[len(prompt):]


def learn(model, prompts, golden):
    log_probs = []
    for prompt in prompts:
        table = torch.log_softmax(model(prompt[None]).logits[0], -1)
        log_probs.append(table[range(len(prompt) - 1), prompt[1:]])
    log_probs = torch.cat(log_probs)
    log_probs.mean().backward()
    golden["log_probs"] = log_probs.detach()
    gradients(model, "grad.", golden)


def balance(model, prompts, golden):
    module = importlib.import_module(type(model).__module__)
    config = model.config
    experts = config.num_local_experts if config.model_type == "mixtral" else config.num_experts
    losses = []
    for prompt in prompts:
        router_logits = model(prompt[None], output_router_logits=True).router_logits
        losses.append(module.load_balancing_loss_func(tuple(router_logits), experts, config.num_experts_per_tok))
    losses = torch.stack(losses)
    factors = torch.tensor(BALANCE_FACTORS)
    (losses * factors).sum().backward()
    golden["balance_losses"] = losses.detach()
    golden["balance_factors"] = factors
    gradients(model, "balance_grad.", golden)


def make(directory, name, fields, seed):
    generator = torch.Generator().manual_seed(seed)
    model = make_model(name, fields, generator)
    vocab = fields["vocab_size"]
    prompts = [torch.randint(2, vocab, (n,), generator=generator) for n in LENGTHS]
    check_choices(model, prompts)
    golden = {"greedy": torch.tensor(likeliest(model, prompts[1])).float()}
    projection = torch.randn(vocab, generator=generator)
    projection /= projection.norm()
    rows = torch.arange(0, LENGTHS[-1], 131)
    golden.update(projection=projection, rows_1500=rows.float())
    for n, prompt in zip(LENGTHS, prompts):
        golden[f"tokens_{n}"] = prompt.float()
        with torch.no_grad():
            logits = model(prompt[None]).logits[0]
        golden[f"logits_{n}"] = logits[rows] if n == LENGTHS[-1] else logits
        if n == LENGTHS[-1]:
            golden[f"projected_{n}"] = logits @ projection
    learn(model, prompts[:3], golden)
    if "experts_per_tok" in " ".join(fields):
        balance(model, prompts[:3], golden)
    model.bfloat16().save_pretrained(directory)
    names = set(load_file(os.path.join(directory, "model.safetensors")))
    for key in golden:
        if key.startswith("grad."):
            assert key[5:] in names, key
    os.remove(os.path.join(directory, "generation_config.json"))
    with open(os.path.join(directory, "config.json")) as file:
        assert json.load(file)["model_type"] == model.config.model_type
    save_file({k: v.float().contiguous() for k, v in golden.items()}, os.path.join(directory, "golden.safetensors"))


def main():
    torch.set_num_threads(1)
    for case, (name, fields) in CASES.items():
        if sys.argv[2:] and case not in sys.argv[2:]:
            continue
        for seed in range(100):
            try:
                make(os.path.join(sys.argv[1], case), name, fields, seed)
                break
            except Unlucky as reason:
                print(f"{case}: seed {seed}: {reason} hangs by a thread")
        else:
            sys.exit(f"{case}: no seed")
        print(case, "seed", seed)


if __name__ == "__main__":
    main()
