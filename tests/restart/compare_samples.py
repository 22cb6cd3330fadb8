#!/usr/bin/env python3
"""Compares the samples of two runs, file by file: everything but times and leases must be equal.

    compare_samples.py RUN RUN        ends with code 1 and a line if they differ
    compare_samples.py --async RUN STALENESS
        of one run: no group is learnt from twice, no sample is older than STALENESS versions
"""
import os
import sys

import h5py

TIMES_AND_LEASES = ("sample/lease", "sample/generation_s", "evidence/seconds", "lease_history/")


def datasets(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return {name: value for name, value in found.items()
            if not name.startswith(TIMES_AND_LEASES) and name != "configuration"}


def files(run):
    return sorted(name for name in os.listdir(os.path.join(run, "samples")) if name.endswith(".h5"))


def compare(one, other):
    if files(one) != files(other):
        return f"files differ: {set(files(one)) ^ set(files(other))}"
    for name in files(one):
        a, b = (datasets(os.path.join(run, "samples", name)) for run in (one, other))
        for key in a.keys() | b.keys():
            if key not in a or key not in b or a[key].tobytes() != b[key].tobytes():
                return f"{name}: {key} differs"
    return None


def check_async(run, staleness):
    seen = {}
    for name in files(run):
        if not name.startswith("samples_"):
            continue
        step = int(name[len("samples_"):-len(".h5")])
        with h5py.File(os.path.join(run, "samples", name), "r") as file:
            for group in set(file["sample/group"][:].tolist()):
                if group in seen:
                    return f"group {group} was learnt from in steps {seen[group]} and {step}"
                seen[group] = step
            oldest = min(file["versions/version/values"][:].tolist())
            if step - oldest > staleness:
                return f"step {step} learnt from a sample of version {oldest}"
    missing = sorted(set(range(max(seen) + 1)) - seen.keys())
    print(f"{len(seen)} groups, {len(missing)} of the numbers below {max(seen)} not learnt from at the end")
    return None


if __name__ == "__main__":
    fault = check_async(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "--async" else compare(*sys.argv[1:3])
    if fault:
        sys.exit(fault)
