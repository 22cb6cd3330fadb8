#!/usr/bin/env python3
"""Compares a GGUF file that `physarum convert` has made a Hugging Face directory of with transformers' own reading of
the GGUF file. By hand; needs torch, transformers and gguf (run with torch 2.15, transformers 5.24, gguf 0.19).

Usage: gguf_parity.py MODEL.gguf DIR        DIR: physarum convert MODEL.gguf DIR --dtype f32

  tensors     every one bit for bit as transformers' state dict, and, where rows have the same order, as gguf.dequantize
  config      every field that both have
  tokens      ids of some hundred texts, with special tokens inside; the chat template; the special tokens
  logits      of the directory, as transformers loads it, against transformers on the GGUF file

Exit code 1 if anything differs.
"""
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

WORDS = ("hello", "Hello", "HELLO", "don't", "we'll", "naïve", "Straße", "Привет", "мир", "你好世界", "こんにちは", "한국어",
         "שלום", "مرحبا", "नमस्ते", "ไทย", "😀", "👩‍👩‍👧‍👦", "🇩🇪", "é", "e\u0301", "ﬁ", "\u200b", "\ufeff", "∑x²≤∞", "½", "Ⅷ",
         "x1", "3.14159", "1234567890", "0x7fff", "foo_bar", "std::vector<int>", "#include", "<html>", "</p>", "http://a.b/c?d=e",
         "a\tb", "\r\n", "\n\n\n", "   ", "\t\t", "...", "!?!?", "“quoted”", "—", "$100", "50%", "C++", "\\frac{1}{2}")
JOINTS = ("", " ", "  ", "\n", ", ", "-", "'", "1")
SPECIAL = ("<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n", "a<|im_end|>b", " <|im_start|> ", "<|im_", "<file_sep>x")


def texts():
    """The same some hundred texts every time: each word alone, with each joint beside another, and longer mixtures."""
    for word in WORDS:
        yield word
    for i, joint in enumerate(JOINTS):
        for j, word in enumerate(WORDS):
            yield word + joint + WORDS[(j * 7 + i * 11 + 3) % len(WORDS)]
    yield from SPECIAL
    for i in range(10):
        yield " ".join(WORDS[(i * 13 + k * k) % len(WORDS)] for k in range(40))


class Report:
    def __init__(self):
        self.failures = 0

    def line(self, what, good, total, note=""):
        print(f"{what}: {good}/{total}{' ' + note if note else ''}")
        self.failures += good != total


def bits(array):
    return np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)


def compare_tensors(report, gguf_path, directory, state):
    names = dict(weight_names(directory))
    same = 0
    for name, file in names.items():
        with safe_open(file, "numpy") as tensors:
            equal = np.array_equal(bits(tensors.get_tensor(name)), bits(state[name].numpy()))
            same += equal
            if not equal:
                print(f"  {name} differs")
    extra = [name for name in state if name not in names and name != "lm_head.weight"]
    report.line("tensors bit for bit as transformers", same, len(names) + len(extra))
    values = {}
    for tensor in GGUFReader(gguf_path).tensors:
        values[tensor.name] = dequantize(tensor.data, tensor.tensor_type)
    as_gguf, checked = 0, 0
    for name, file in names.items():
        gguf_name = name_in_gguf(name)
        if gguf_name not in values or "_q." in gguf_name or "_k." in gguf_name:
            continue
        with safe_open(file, "numpy") as tensors:
            checked += 1
            as_gguf += np.array_equal(bits(tensors.get_tensor(name)).ravel(), bits(values[gguf_name]).ravel())
    report.line("tensors bit for bit as gguf.dequantize (query and key apart)", as_gguf, checked)


def weight_names(directory):
    index = os.path.join(directory, "model.safetensors.index.json")
    if os.path.exists(index):
        for name, file in json.load(open(index))["weight_map"].items():
            yield name, os.path.join(directory, file)
        return
    file = os.path.join(directory, "model.safetensors")
    with safe_open(file, "numpy") as tensors:
        for name in tensors.keys():
            yield name, file


def name_in_gguf(name):
    ends = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
            "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
            "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
            "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    whole = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    module, kind = name.rsplit(".", 1)
    if module in whole:
        return f"{whole[module]}.{kind}"
    _, _, layer, rest = module.split(".", 3)
    return f"blk.{layer}.{ends.get(rest, rest)}.{kind}"


def compare_config(report, theirs, directory):
    ours = AutoConfig.from_pretrained(directory)
    fields = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
              "intermediate_size", "vocab_size", "max_position_embeddings", "tie_word_embeddings", "bos_token_id",
              "eos_token_id")
    same = [getattr(ours, field) == getattr(theirs, field) for field in fields]
    same.append(np.float32(ours.rms_norm_eps) == np.float32(theirs.rms_norm_eps))
    same.append(ours.rope_parameters["rope_theta"] == theirs.rope_parameters["rope_theta"])
    for field, equal in zip((*fields, "rms_norm_eps", "rope_theta"), same):
        if not equal:
            print(f"  {field}: {getattr(ours, field, None)} here, {getattr(theirs, field, None)} there")
    report.line("config fields", sum(same), len(same))


def compare_tokens(report, gguf_path, directory):
    ours = AutoTokenizer.from_pretrained(directory)
    theirs = AutoTokenizer.from_pretrained(os.path.dirname(gguf_path) or ".", gguf_file=os.path.basename(gguf_path))
    plain = list(texts())
    same = 0
    for text in plain:
        equal = ours.encode(text, add_special_tokens=False) == theirs.encode(text, add_special_tokens=False)
        same += equal
        if not equal:
            print(f"  {text!r}: {ours.tokenize(text)} here, {theirs.tokenize(text)} there")
    report.line("texts with transformers' ids", same, len(plain))
    names = ("bos_token", "eos_token", "pad_token", "unk_token", "chat_template")
    equal = [getattr(ours, name) == getattr(theirs, name) for name in names]
    for name, is_equal in zip(names, equal):
        if not is_equal:
            print(f"  {name}: {getattr(ours, name)!r} here, {getattr(theirs, name)!r} there")
    report.line("special tokens and template", sum(equal), len(names))
    return ours


def compare_logits(report, theirs, directory, tokenizer):
    ours = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    ids = torch.tensor([tokenizer.encode("What is 7 + 5? The answer is", add_special_tokens=False)])
    with torch.no_grad():
        difference = (ours(ids).logits - theirs(ids).logits).abs().max().item()
    report.line("logits equal", int(difference == 0), 1, f"largest difference {difference}")


def main():
    gguf_path, directory = sys.argv[1:]
    report = Report()
    theirs = AutoModelForCausalLM.from_pretrained(os.path.dirname(gguf_path) or ".",
                                                  gguf_file=os.path.basename(gguf_path), dtype=torch.float32)
    compare_tensors(report, gguf_path, directory, theirs.state_dict())
    compare_config(report, theirs.config, directory)
    tokenizer = compare_tokens(report, gguf_path, directory)
    compare_logits(report, theirs, directory, tokenizer)
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
