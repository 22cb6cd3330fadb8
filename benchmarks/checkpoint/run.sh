#!/usr/bin/env bash
# Checkpoints against plain files and torch.save, on the disk that holds runs/; and what a background save costs a step.
#   benchmarks/run.sh checkpoint        ROUNDS, MEGABYTES: 5 rounds in turns, 600 MB
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${ROUNDS:-5}
megabytes=${MEGABYTES:-600}
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target physarum checkpoint_benchmark -- --quiet
python=$(benchmarks/grpo_vs_trl/make_environment.sh)
bench=build/benchmarks/checkpoint_benchmark
place=runs/benchmarks/checkpoint-files
mkdir -p "$place"
trap 'rm -rf "$place"' EXIT

# What a file has in the page cache is dropped: reads come from the disk.
drop() { dd of="$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none; }
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
ratio() { awk -v a="$(median "$place/$1")" -v b="$(median "$place/$2")" 'BEGIN { printf "%.3f", a / b }'; }
# Whoever comes first may have to wait for memory that the hypervisor has taken back: it is another one in each round.
turns() { if ((round % 2)); then echo "$1 $2"; else echo "$2 $1"; fi; }
for ((round = 0; round < rounds; ++round)); do
  for what in $(turns write-plain write); do "$bench" $what "$place" "$megabytes" >>"$place/$what.s"; done
  "$python" benchmarks/checkpoint/peer.py write "$place/torch" "$megabytes" >>"$place/torch-write.s"
  for file in plain torch step-1/checkpoint.h5; do drop "$place/$file"; done
  for what in $(turns read-plain read); do "$bench" $what "$place" "$megabytes" >>"$place/$what.s"; done
  "$python" benchmarks/checkpoint/peer.py read "$place/torch" "$megabytes" >>"$place/torch-read.s"
  # Once more from the page cache.
  for what in $(turns read-plain read); do "$bench" $what "$place" "$megabytes" >>"$place/$what-cached.s"; done
done
for what in write write-plain torch-write read read-plain torch-read read-cached read-plain-cached; do
  printf '%s: %s s, rounds %s\n' "$what" "$(median "$place/$what.s")" "$(tr '\n' ' ' <"$place/$what.s")"
done
echo "figure write_against_plain $(ratio write-plain.s write.s) times goal >= 0.9"
echo "figure read_against_plain $(ratio read-plain.s read.s) times goal >= 0.9"
echo "figure read_against_plain_cached $(ratio read-plain-cached.s read-cached.s) times goal >= 0"
echo "figure write_against_torch_save $(ratio torch-write.s write.s) times goal >= 1"
echo "figure read_against_torch_load $(ratio torch-read.s read.s) times goal >= 1"
echo "figure extra_memory $("$bench" memory "$place" "$megabytes") times goal <= 1.1"

# A model of 45 million parameters: 12 bytes each in a checkpoint.
model=build/bench-checkpoint-model
mkdir -p "$model"
cp inputs/model-small/tokenizer*.json "$model/"
sed -e 's/"hidden_size": [0-9]*/"hidden_size": 768/; s/"intermediate_size": [0-9]*/"intermediate_size": 2304/; s/"num_hidden_layers": [0-9]*/"num_hidden_layers": 6/;
  s/"num_attention_heads": [0-9]*/"num_attention_heads": 12/; s/"num_key_value_heads": [0-9]*/"num_key_value_heads": 12/' \
  inputs/model-small/config.json >"$model/config.json"
jobs/launch -n 3 train benchmarks/checkpoint/config.toml >&2
"$python" - <<'PYTHON'
import json, os, statistics
run = "runs/benchmarks/checkpoint"
steps = {s["step"]: s for s in map(json.loads, open(f"{run}/metrics.jsonl")) if "perf/step_time" in s}
interval = 4
# The save of checkpoint N comes before step N's work, and is counted in it: perf/save_time is what it held up.
saving = [steps[s]["perf/step_time"] for s in steps if s > 3 and s % interval == 0 and "perf/save_time" in steps[s]]
others = [steps[s]["perf/step_time"] for s in steps if s > 3 and s % interval == 2]
held = [steps[s]["perf/save_time"] for s in steps if "perf/save_time" in steps[s]]
size = os.path.getsize(f"{run}/checkpoints/{open(f'{run}/checkpoints/latest').read().strip()}/checkpoint.h5")
assert size >= 500e6 and len(saving) >= 4, (size, saving)
print(f"background save of {size / 1e6:.0f} MB: steps {statistics.median(saving):.3f} s with, {statistics.median(others):.3f} s without; "
      f"held up {statistics.median(held):.3f} s")
print(f"figure async_save_step {statistics.median(saving) / statistics.median(others):.4f} times goal <= 1.05")
PYTHON
rm -rf runs/benchmarks/checkpoint/checkpoints
