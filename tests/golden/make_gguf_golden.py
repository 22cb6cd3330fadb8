#!/usr/bin/env python3
"""Writes the GGUF vectors of tests/model/data/gguf and the corpora of the fuzz targets of files of weights.

Needs numpy, gguf and safetensors (made with gguf 0.19); the tests only read what it wrote.
Usage: make_gguf_golden.py DATA_DIRECTORY CORPUS_DIRECTORY

  types.gguf               one tensor of every type, blocks of random bits, alignment 64
  types.safetensors        the same dequantised by the gguf package, f32
  llama.gguf               a tiny llama with interleaved query and key rows, quantised where ggml would, tokenizer
  llama.safetensors        its tensors under Hugging Face names and in Hugging Face's order, dequantised
  qwen3.gguf               a tiny qwen3 (norms of query and key, wide heads), version 2, every tensor F16 or F32
  qwen3.safetensors        as above
"""
import os
import struct
import sys

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter, dequantize, quantize
from gguf.constants import GGML_QUANT_SIZES
from safetensors.numpy import save_file

TYPES = (Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q4_K, Type.Q6_K)
RANDOM = np.random.default_rng(11)
# Where the f16 numbers of a block are: random bits would make some of them infinite.
HALVES = {Type.Q8_0: (0,), Type.Q4_0: (0,), Type.Q4_1: (0, 2), Type.Q4_K: (0, 2), Type.Q6_K: (208,)}


def random_blocks(kind, rows, width):
    """Rows of blocks whose bits are random, with finite scales of both signs, 0 and denormals among them."""
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = RANDOM.integers(0, 256, (rows * width // elements, size), dtype=np.uint8)
    for place in HALVES[kind]:
        scales = RANDOM.normal(0, 0.1, len(blocks)).astype(np.float16)
        scales[0] = np.float16(-0.0)
        scales[-1] = np.float16(3e-7)
        blocks[:, place:place + 2] = scales.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, -1)


def stored(values, kind):
    """fp32 values as a type's bytes, and what they are worth then."""
    if kind == Type.F32:
        return values, values
    if kind == Type.F16:
        half = values.astype(np.float16)
        return half, half.astype(np.float32)
    data = quantize(values, kind)
    return data, dequantize(data, kind)


def write_types(directory):
    writer = GGUFWriter(f"{directory}/types.gguf", "types")
    writer.add_custom_alignment(64)
    expected = {}
    for kind in TYPES:
        name = f"t.{kind.name}"
        if kind == Type.F32:
            data = RANDOM.normal(0, 1, (3, 256)).astype(np.float32)
            value = data
        elif kind == Type.F16:
            data = RANDOM.integers(0, 0x7C00, (3, 256), dtype=np.uint16)
            data |= (RANDOM.integers(0, 2, data.shape, dtype=np.uint16) << 15).astype(np.uint16)
            data = data.view(np.float16)
            value = data.astype(np.float32)
        elif kind == Type.BF16:
            bits = RANDOM.integers(0, 0x7F80, (3, 256), dtype=np.uint16)
            data = bits.view(np.uint8)
            value = dequantize(data, kind)
        else:
            data = random_blocks(kind, 3, 256)
            value = dequantize(data, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
        expected[name] = np.ascontiguousarray(value, dtype=np.float32)
    close(writer)
    save_file(expected, f"{directory}/types.safetensors")


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def byte_alphabet():
    """GPT-2's characters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def add_tokenizer(writer, rows, pre):
    alphabet = byte_alphabet()
    space = alphabet[ord(" ")]
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), (space, "w"), ("o", "r"), (space + "w", "or")]
    tokens = ["<|end|>", "<|start|>"] + [alphabet[byte] for byte in range(256)] + [a + b for a, b in merges]
    types = [3, 3] + [1] * (len(tokens) - 2)
    tokens.append("<tool>")
    types.append(4)
    while len(tokens) < rows:
        tokens.append(f"[PAD{len(tokens)}]")
        types.append(5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)
    writer.add_eot_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}<|end|>{% endfor %}")


def interleave(rows, heads):
    """llama.cpp's order of the rows of query and key."""
    width = rows.shape[0] // heads
    return rows.reshape(heads, 2, width // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def write_model(directory, name, architecture, sizes, kinds, pre, version=3, extra=lambda writer: None):
    hidden, heads, key_heads, width, inner, layers, rows = sizes
    writer = GGUFWriter(f"{directory}/{name}.gguf", architecture)
    writer.add_block_count(layers)
    writer.add_context_length(128)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(100000.0)
    extra(writer)
    add_tokenizer(writer, rows, pre)
    expected = {}

    def add(gguf_name, hf_name, shape, kind, heads_of_rows=0):
        values = RANDOM.normal(0, 0.2, shape).astype(np.float32)
        data, worth = stored(values, kind)
        expected[hf_name] = np.ascontiguousarray(worth, dtype=np.float32)
        if heads_of_rows:
            data = interleave(data, heads_of_rows)
        writer.add_tensor(gguf_name, np.ascontiguousarray(data), raw_dtype=kind)

    matrix, vector = kinds
    add("token_embd.weight", "model.embed_tokens.weight", (rows, hidden), matrix[0])
    add("output_norm.weight", "model.norm.weight", (hidden,), vector)
    for layer in range(layers):
        block, hf = f"blk.{layer}", f"model.layers.{layer}"
        kind = matrix[(1 + layer) % len(matrix)]
        mixed = heads if architecture == "llama" else 0
        mixed_key = key_heads if architecture == "llama" else 0
        add(f"{block}.attn_norm.weight", f"{hf}.input_layernorm.weight", (hidden,), vector)
        add(f"{block}.attn_q.weight", f"{hf}.self_attn.q_proj.weight", (heads * width, hidden), kind, mixed)
        add(f"{block}.attn_k.weight", f"{hf}.self_attn.k_proj.weight", (key_heads * width, hidden), kind, mixed_key)
        add(f"{block}.attn_v.weight", f"{hf}.self_attn.v_proj.weight", (key_heads * width, hidden), kind)
        add(f"{block}.attn_output.weight", f"{hf}.self_attn.o_proj.weight", (hidden, heads * width), kind)
        if architecture == "qwen3":
            add(f"{block}.attn_q_norm.weight", f"{hf}.self_attn.q_norm.weight", (width,), vector)
            add(f"{block}.attn_k_norm.weight", f"{hf}.self_attn.k_norm.weight", (width,), vector)
        add(f"{block}.ffn_norm.weight", f"{hf}.post_attention_layernorm.weight", (hidden,), vector)
        add(f"{block}.ffn_gate.weight", f"{hf}.mlp.gate_proj.weight", (inner, hidden), kind)
        add(f"{block}.ffn_up.weight", f"{hf}.mlp.up_proj.weight", (inner, hidden), kind)
        add(f"{block}.ffn_down.weight", f"{hf}.mlp.down_proj.weight", (hidden, inner), kind)
    close(writer)
    if version != 3:
        with open(f"{directory}/{name}.gguf", "r+b") as file:
            file.seek(4)
            file.write(struct.pack("<I", version))
    save_file(expected, f"{directory}/{name}.safetensors")


def write_corpora(data, corpus):
    """Small whole files: mutations of them reach every check."""
    for name in ("gguf", "safetensors"):
        os.makedirs(f"{corpus}/{name}", exist_ok=True)
    writer = GGUFWriter(f"{corpus}/gguf/scalars.gguf", "llama")
    writer.add_uint8("u8", 200)
    writer.add_int8("i8", -5)
    writer.add_uint16("u16", 60000)
    writer.add_int16("i16", -300)
    writer.add_int32("i32", -70000)
    writer.add_uint64("u64", 1 << 40)
    writer.add_int64("i64", -(1 << 40))
    writer.add_float64("f64", 0.1)
    writer.add_bool("b", True)
    writer.add_array("strings", ["a", "bc"])
    writer.add_array("numbers", [1.5, 2.5])
    writer.add_array("integers", [1, -2, 3])
    close(writer)
    for name in ("llama", "qwen3"):
        write_small_model(f"{corpus}/gguf/{name}.gguf", name)
    save_file({"a": np.zeros((2, 3), np.float32), "b": np.ones(4, np.float16)},
              f"{corpus}/safetensors/two.safetensors", metadata={"format": "pt"})
    save_file({}, f"{corpus}/safetensors/none.safetensors")


def write_small_model(path, architecture):
    """A whole model whose tensors have one block each."""
    writer = GGUFWriter(path, architecture)
    for add, value in ((writer.add_block_count, 1), (writer.add_context_length, 8), (writer.add_embedding_length, 4),
                       (writer.add_feed_forward_length, 4), (writer.add_head_count, 2), (writer.add_head_count_kv, 1)):
        add(value)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_scaling_factor(8.0)
    writer.add_string(f"{architecture}.rope.scaling.type", "linear")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe" if architecture == "llama" else "qwen2")
    writer.add_token_list(["<|end|>", "a", "b", "ab"])
    writer.add_token_types([3, 1, 1, 1])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    writer.add_chat_template("{{ messages }}")
    for name, shape in (("token_embd.weight", (4, 4)), ("blk.0.attn_q.weight", (4, 4)), ("blk.0.attn_k.weight", (2, 4))):
        writer.add_tensor(name, np.ones(shape, np.float32))
    writer.add_tensor("blk.0.ffn_up.weight", random_blocks(Type.Q4_1, 1, 32), raw_dtype=Type.Q4_1)
    writer.add_tensor("blk.0.ffn_down.weight", random_blocks(Type.Q6_K, 1, 256), raw_dtype=Type.Q6_K)
    if architecture == "llama":
        writer.add_tensor("rope_freqs.weight", np.ones(1, np.float32))
    close(writer)


def main():
    data, corpus = sys.argv[1:]
    os.makedirs(data, exist_ok=True)
    write_types(data)
    write_model(data, "llama", "llama", (64, 4, 2, 16, 96, 2, 268), ((Type.Q8_0, Type.Q4_1, Type.Q4_0), Type.F32),
                "smollm", extra=lambda writer: writer.add_rope_dimension_count(16))
    write_model(data, "qwen3", "qwen3", (16, 2, 1, 12, 20, 1, 270), ((Type.F16, Type.F32), Type.F32), "qwen2",
                version=2, extra=lambda writer: (writer.add_key_length(12), writer.add_value_length(12)))
    write_corpora(data, corpus)


if __name__ == "__main__":
    main()
