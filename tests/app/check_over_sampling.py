#!/usr/bin/env python3
"""Looks at the samples of a run that over-samples: says what is wrong and ends with code 1, or says nothing.

    check_over_sampling.py RUN --steps N [--mixed] [--masked]
        every step has 16 samples of 4 whole groups, in no other step; --mixed: some have tokens of two versions;
        --masked: trained are just the tokens of the step's own version
"""
import argparse
import os
import sys

import h5py


def ragged(file, name):
    values, ends = file[name + "/values"][:], file[name + "/ends"][:].tolist()
    begins = [0] + ends[:-1]
    return [values[begin:end] for begin, end in zip(begins, ends)]


def check(arguments):
    seen, mixed, masked = {}, 0, 0
    for step in range(arguments.steps):
        with h5py.File(os.path.join(arguments.run, "samples", f"samples_{step}.h5"), "r") as file:
            ids, groups = file["sample/id"][:].tolist(), file["sample/group"][:].tolist()
            prompt = file["sample/prompt_tokens"][:].tolist()
            status = file["sample/status"][:].tolist()
            tokens, masks, log_probs = (ragged(file, name) for name in ("tokens", "mask", "log_probs"))
            versions, counts = ragged(file, "versions/version"), ragged(file, "versions/tokens")
        if len(ids) != 16 or sorted(groups.count(group) for group in set(groups)) != [4] * 4:
            return f"step {step} has {len(ids)} samples of the groups {sorted(set(groups))}"
        for i, sample in enumerate(ids):
            if sample in seen:
                return f"sample {sample} was learnt from in steps {seen[sample]} and {step}"
            seen[sample] = step
            response = len(tokens[i]) - prompt[i]
            if not len(masks[i]) == len(log_probs[i]) == sum(counts[i]) == response or status[i] not in (1, 2):
                return f"sample {sample} is not whole"
            if max(versions[i]) > step:
                return f"sample {sample} of step {step} has tokens of a later version"
            mixed += len(versions[i]) > 1
            made_by = [version for version, count in zip(versions[i], counts[i]) for _ in range(count)]
            for mask, log_prob, version in zip(masks[i], log_probs[i], made_by):
                masked += mask == 0
                if arguments.masked and (mask == 1) != (version == step):
                    return f"sample {sample} of step {step} learns from a token of version {version}"
                if mask == 0 and log_prob != 0:
                    return f"sample {sample} has a log-prob that is not trained"
    if arguments.mixed and mixed == 0:
        return "no sample has tokens of two versions"
    if bool(masked) != arguments.masked:
        return f"{masked} tokens are masked"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--masked", action="store_true")
    fault = check(parser.parse_args())
    if fault:
        print(fault)
        sys.exit(1)
