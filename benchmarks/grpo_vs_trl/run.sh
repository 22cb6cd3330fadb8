#!/usr/bin/env bash
# GRPO samples per second against TRL on the same two cores: three rounds in turns, medians.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${ROUNDS:-3}
here=benchmarks/grpo_vs_trl
cmake --preset release >/dev/null
cmake --build --preset release --target physarum -- --quiet
python=$("$here/make_environment.sh")

# Without end token: every answer has exactly 32 new tokens, as in the peer.
model=build/bench-model
mkdir -p "$model"
cp inputs/model-small/tokenizer*.json "$model/"
sed -e 's/"eos_token_id": [0-9]*/"eos_token_id": null/' "$here/model/config.json" > "$model/config.json"

ours() {
  rm -rf runs/benchmarks/grpo
  jobs/launch -n 2 train "$here/config.toml" --hf-checkpoint "$model" >&2
  "$python" - <<'PYTHON'
import json, statistics
steps = [json.loads(line) for line in open("runs/benchmarks/grpo/metrics.jsonl")]
times = [s["perf/step_time"] for s in steps if "perf/step_time" in s][8:]
lengths = {s["rollout/response_len/mean"] for s in steps if "rollout/response_len/mean" in s}
assert lengths == {32.0}, lengths
shares = {s["perf/backward_token_ratio"] for s in steps if "perf/backward_token_ratio" in s}
assert shares == {1.0}, f"not every token went backward: {shares}"
print(statistics.median(times))
PYTHON
}
theirs() { "$python" "$here/peer.py" | tail -n 1 | "$python" -c 'import json,sys; d=json.load(sys.stdin); print(d["seconds_per_step"]); print("peer: TRL", d["trl"], "torch", d["torch"], "transformers", d["transformers"], file=sys.stderr)'; }
# Seconds that the matrix products of one step need at the peak of the peer's matrix product, two threads.
arithmetic() { "$python" - <<'PYTHON'
import time, torch
torch.set_num_threads(2)
a, b = torch.randn(1024, 512), torch.randn(512, 1024)
best = 1e9
for _ in range(60):
    t = time.perf_counter()
    for _ in range(10):
        torch.mm(a, b)
    best = min(best, (time.perf_counter() - t) / 10)
rate = 2 * 1024 * 512 * 1024 / best
layers = 4 * (128 * 256 + 128 * 128 + 3 * 128 * 512)   # qkv, output, gate/up/down
head = 128 * 512
tokens, new, samples = 64 * (6 + 32), 64 * 32, 64
work = 2 * (layers + head) * new + 6 * (layers * tokens + head * new)
print(work / rate)
PYTHON
}

a=() ; b=()
for round in $(seq "$rounds"); do
  t=$(theirs); o=$(ours)
  a+=("$t"); b+=("$o")
  echo "round $round: TRL $t s a step, Physarum $o s a step"
done
limit=$(arithmetic)
median() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
trl=$(median "${a[@]}"); phy=$(median "${b[@]}")
awk -v trl="$trl" -v phy="$phy" -v limit="$limit" 'BEGIN {
  printf "figure trl_seconds_per_step %.4f s goal - -\n", trl
  printf "figure physarum_seconds_per_step %.4f s goal - -\n", phy
  printf "figure physarum_samples_per_second %.1f 1/s goal - -\n", 64 / phy
  printf "figure speed_over_trl %.2f x goal >= 2.5\n", trl / phy
  printf "figure arithmetic_seconds_per_step %.4f s goal - -\n", limit
  printf "figure arithmetic_limit_over_trl %.2f x goal - -\n", trl / limit
}'
