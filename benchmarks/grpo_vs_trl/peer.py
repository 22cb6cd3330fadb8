#!/usr/bin/env python3
"""GRPO steps by TRL on the CPU; prints one JSON line with seconds per step and samples per second.

  peer.py [--steps N] [--warm-up N] [--threads N] [--attention sdpa|eager] [--gradient-checkpointing] [--cache NAME]

One step = generate 64 samples (8 prompts x 8) of exactly 32 new tokens at temperature 1, reward them, one optimiser
step on all of them: fp32, beta 0. The model is model/config.json beside this script with random weights. The defaults of this script
are the fastest that we found for TRL; README.md says what was tried.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GROUP, PROMPTS, NEW_TOKENS = 8, 8, 32


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--cache", default=None, help="cache_implementation; default: TRL's own")
    return parser.parse_args()


def settings(args, directory):
    from trl import GRPOConfig
    return GRPOConfig(
        output_dir=directory, use_cpu=True, bf16=False, fp16=False, seed=1,
        per_device_train_batch_size=GROUP * PROMPTS, num_generations=GROUP, gradient_accumulation_steps=1,
        num_iterations=1, steps_per_generation=1, max_steps=args.warm_up + args.steps, beta=0.0, temperature=1.0,
        max_completion_length=NEW_TOKENS, generation_kwargs={"min_new_tokens": NEW_TOKENS},
        learning_rate=1e-4, lr_scheduler_type="constant", cache_implementation=args.cache,
        gradient_checkpointing=args.gradient_checkpointing,
        logging_strategy="no", save_strategy="no", report_to="none", disable_tqdm=True, log_completions=False,
        dataloader_num_workers=0, dataloader_pin_memory=False)


def make_model(args):
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM
    torch.manual_seed(1)
    config = Qwen2Config.from_pretrained(HERE / "model")
    config._attn_implementation = args.attention
    return Qwen2ForCausalLM(config).float()


def make_prompts():
    """Two-digit additions, one token a character, as the program's own side of the comparison has them."""
    from datasets import Dataset
    return Dataset.from_dict({"prompt": [f"{10 + i * 37 % 90}+{10 + i * 53 % 90}=" for i in range(512)]})


def share_of_even_tokens(completion_ids, **_):
    """A reward that costs nothing and differs inside every group."""
    return [sum(1 for token in ids if token % 2 == 0) / NEW_TOKENS for ids in completion_ids]


def make_clock():
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        def __init__(self):
            self.ends = []

        def on_train_begin(self, *_, **__):
            self.ends.append(time.perf_counter())

        def on_step_end(self, *_, **__):
            self.ends.append(time.perf_counter())

    return Clock()


def train(args):
    from transformers import AutoTokenizer, PrinterCallback
    from trl import GRPOTrainer
    lengths = set()

    def reward(completion_ids, **keywords):
        lengths.update(len(ids) for ids in completion_ids)
        return share_of_even_tokens(completion_ids, **keywords)

    clock = make_clock()
    with tempfile.TemporaryDirectory() as directory:
        trainer = GRPOTrainer(model=make_model(args), args=settings(args, directory), train_dataset=make_prompts(),
                              processing_class=AutoTokenizer.from_pretrained(ROOT / "inputs/model-small"),
                              reward_funcs=reward, callbacks=[clock])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    if lengths != {NEW_TOKENS}:
        sys.exit(f"peer: completions have lengths {sorted(lengths)}, not {NEW_TOKENS}")
    return [b - a for a, b in zip(clock.ends, clock.ends[1:])][args.warm_up:]


def main():
    args = arguments()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                      TRL_EXPERIMENTAL_SILENCE="1", CUDA_VISIBLE_DEVICES="")
    import torch
    import transformers
    import trl
    torch.set_num_threads(args.threads)
    seconds = train(args)
    median = statistics.median(seconds)
    print(json.dumps({
        "peer": "trl", "trl": trl.__version__, "torch": torch.__version__, "transformers": transformers.__version__,
        "threads": args.threads, "attention": args.attention, "steps": len(seconds), "samples_per_step": GROUP * PROMPTS,
        "new_tokens": NEW_TOKENS, "seconds_per_step": round(median, 4), "fastest_step_s": round(min(seconds), 4),
        "samples_per_second": round(GROUP * PROMPTS / median, 2)}))


main()
