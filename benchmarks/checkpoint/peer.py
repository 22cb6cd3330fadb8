"""Seconds that torch.save with fsync, or torch.load, needs for as many bytes in tensors of the same sizes.

peer.py write|read FILE MEGABYTES
"""
import os
import sys
import time

import torch

what, path, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(1)
if what == "write":
    left, tensors = megabytes * 1_000_000 // 4, {}
    while left > 0:
        size = min(left, 1536 if len(tensors) % 3 == 2 else 512 * 4 * 1536)
        tensors[f"weights/layer.{len(tensors)}"] = torch.arange(size, dtype=torch.float32)
        left -= size
    start = time.perf_counter()
    with open(path + ".new", "wb") as file:
        torch.save(tensors, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)
else:
    start = time.perf_counter()
    tensors = torch.load(path)
print(f"{time.perf_counter() - start:.4f}")
print("peer: torch", torch.__version__, file=sys.stderr)
