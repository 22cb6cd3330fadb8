#!/usr/bin/env python3
"""Writes a Qwen2 of 20 million random parameters as a Hugging Face directory, fp32, without end token.

  make_model.py DIRECTORY
"""
import sys

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

torch.manual_seed(1)
config = Qwen2Config(
    hidden_size=384, intermediate_size=1152, num_hidden_layers=8, num_attention_heads=6, num_key_value_heads=2,
    vocab_size=16384, max_position_embeddings=2048, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None,
    # Larger than usual, so that the likeliest token is ahead of the second by more than rounding.
    initializer_range=0.06)
model = Qwen2ForCausalLM(config).float()
model.save_pretrained(sys.argv[1])
print(f"{model.num_parameters()} parameters", file=sys.stderr)
