#!/usr/bin/env python3
"""Medians of what run.sh collected, as a table and as lines for benchmarks/run.sh.

  summarise.py RESULTS.jsonl
"""
import collections
import json
import statistics
import sys

LABELS = ("engine", "model", "what", "storage", "flash", "context", "sequences")
SEQUENCES, CONTEXTS = (1, 8, 32, 64), (128, 1024)


class Results:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file]

    def of(self, **labels):
        return [line for line in self.lines if all(line.get(k) == v for k, v in labels.items())]

    def median(self, key, **labels):
        """None if it was not measured."""
        values = [line[key] for line in self.of(**labels) if key in line]
        return statistics.median(values) if values else None

    def best(self, key, vary, **labels):
        """The largest median over the values of one label: a peer is taken as it is fastest."""
        values = {line.get(vary) for line in self.of(**labels)}
        medians = [self.median(key, **{vary: value}, **labels) for value in values]
        return max((m for m in medians if m is not None), default=None)


def print_table(results):
    groups = collections.defaultdict(list)
    for line in results.lines:
        groups[tuple(line.get(label) for label in LABELS)].append(line)
    for labels, lines in groups.items():
        name = " ".join(str(label) for label in labels if label is not None)
        for key in lines[0]:
            values = [line[key] for line in lines]
            if key in LABELS + ("round",) or not isinstance(values[0], (int, float)):
                continue
            print(f"{name}: {key} {statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})")


def figure(name, value, unit, goal="- -"):
    if value is not None:
        print(f"figure {name} {value:.4g} {unit} goal {goal}")


def ratio(a, b):
    return None if a is None or b is None else a / b


def common_start(a, b):
    """Tokens until the first difference."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), len(a))


def check_same_model(results, model, peer):
    """Rounding may part two greedy answers at a close call, but not from the start."""
    ours = results.of(engine="physarum", what="batch", model=model)
    theirs = results.of(engine=peer, what="batch", model=model)
    if not ours or not theirs:
        return
    starts = [common_start(a, b) for a, b in zip(ours[0]["answers"], theirs[0]["answers"], strict=True)]
    if sum(start > 0 for start in starts) < 0.9 * len(starts):
        sys.exit(f"rollout: {peer} computes another model than ours: common tokens {starts}")
    name = peer.replace(".", "_")
    figure(f"same_tokens_{name}_{model}", sum(starts) / sum(map(len, ours[0]["answers"])), "share")


def peers(results):
    for model, goal in (("smollm2", 3), ("qwen2", 6)):
        ours = results.median("tokens_per_s", engine="physarum", what="batch", model=model)
        theirs = results.median("tokens_per_s", engine="transformers", what="batch", model=model)
        figure(f"physarum_{model}", ours, "token/s")
        figure(f"transformers_{model}", theirs, "token/s")
        figure(f"speed_over_transformers_{model}", ratio(ours, theirs), "x", f">= {goal}")
        for peer in ("transformers", "llama.cpp"):
            check_same_model(results, model, peer)
    for context in CONTEXTS:
        for sequences in SEQUENCES:
            decode(results, context, sequences)


def decode(results, context, sequences):
    point = {"what": "decode", "context": context, "sequences": sequences}
    name = f"{context}_{sequences}"
    ours = results.median("tokens_per_s", engine="physarum", storage="f32", **point)
    best = results.best("tokens_per_s", "storage", engine="physarum", **point)
    figure(f"physarum_decode_{name}", ours, "token/s")
    for storage, mine, goal in (("F32", ours, 1 if sequences == 1 else 2), ("BF16", best, 1.2)):
        theirs = results.best("tokens_per_s", "flash", engine="llama.cpp", storage=storage, **point)
        figure(f"llama_{storage.lower()}_decode_{name}", theirs, "token/s")
        figure(f"speed_over_llama_{storage.lower()}_{name}", ratio(mine, theirs), "x", f">= {goal}")


def machine(results):
    read = results.median("read_gb_per_s", what="limits")
    rates = [results.median("product_gflops", what="limits", engine=engine) for engine in ("machine", "torch")]
    peak = max((rate for rate in rates if rate is not None), default=None)
    figure("machine_read", read, "GB/s")
    figure("machine_products", peak, "GFLOP/s")
    at_1 = results.median("weight_gb_per_s", what="decode", storage="f32", context=128, sequences=1)
    at_64 = results.median("product_gflops", what="decode", storage="f32", context=128, sequences=64)
    prefill = {"what": "prefill", "engine": "physarum"}
    figure("read_share_1", ratio(at_1, read), "share", ">= 0.7")
    figure("product_share_64", ratio(at_64, peak), "share", ">= 0.7")
    figure("product_share_prefill", ratio(results.median("gflops", **prefill), peak), "share", ">= 0.7")
    ours = results.median("tokens_per_s", **prefill)
    figure("physarum_prefill", ours, "token/s")
    for storage in ("F32", "BF16"):
        theirs = results.best("tokens_per_s", "flash", what="prefill", engine="llama.cpp", storage=storage)
        figure(f"prefill_over_llama_{storage.lower()}", ratio(ours, theirs), "x")


def pauses(results):
    for line in results.of(what="swap"):
        figure(f"pause_steps_{line['sequences']}", line["pause_s"] / line["step_s"], "times", "<= 1")
        figure(f"pause_p99_steps_{line['sequences']}", line["pause_p99_s"] / line["step_s"], "times", "<= 1")


def memory(results):
    figure("shared_prefix_of_8", ratio(results.median("eight_s", what="shared"), results.median("one_s", what="shared")),
           "times", "<= 1.2")
    turn, whole, first = (results.median(name, what="turn") for name in ("turn_s", "whole_s", "first_s"))
    new = None if whole is None or first is None else whole - first
    figure("second_turn_of_1024_tokens", ratio(turn, new), "times", "<= 1.2")
    for line in results.of(what="soak"):
        allowed = line["weight_bytes"] + line["kv_cache_bytes"]
        figure("memory_of_weights_and_budget", (line["peak_bytes"] - line["program_bytes"]) / allowed, "times", "<= 1.1")
        figure("memory_late_against_early", line["late_bytes"] / line["early_bytes"], "times", "<= 1.02")
        figure("soak_requests", line["requests"] / line["seconds"], "1/s")


def main():
    results = Results(sys.argv[1])
    print_table(results)
    peers(results)
    machine(results)
    pauses(results)
    memory(results)


main()
