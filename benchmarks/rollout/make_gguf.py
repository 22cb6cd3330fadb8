#!/usr/bin/env python3
"""Writes a Hugging Face directory of a Llama or a Qwen2, fp32, as a GGUF file for llama.cpp, without vocabulary.

  make_gguf.py DIRECTORY F32|BF16 FILE
"""
import json
import pathlib
import sys

import gguf
from safetensors.numpy import load_file


def interleave(rows, heads):
    """Llama's GGUF pairs neighbours in rotary positions where Hugging Face pairs halves."""
    shape = rows.shape
    return rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def write_config(writer, config, head_dim):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    theta = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
    writer.add_rope_freq_base(theta)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")


def main():
    directory, storage, path = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    config = json.loads((directory / "config.json").read_text())
    architecture = {"llama": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2}[config["model_type"]]
    heads, head_dim = config["num_attention_heads"], config["hidden_size"] // config["num_attention_heads"]
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    write_config(writer, config, head_dim)
    names = gguf.get_tensor_name_map(architecture, config["num_hidden_layers"])
    matrices = {"F32": gguf.GGMLQuantizationType.F32, "BF16": gguf.GGMLQuantizationType.BF16}[storage]
    for name, values in load_file(directory / "model.safetensors").items():
        values = values.astype("float32")
        if config["model_type"] == "llama":
            if name.endswith("q_proj.weight"):
                values = interleave(values, heads)
            elif name.endswith("k_proj.weight"):
                values = interleave(values, config["num_key_value_heads"])
        kind = matrices if values.ndim > 1 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")),
                          gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
