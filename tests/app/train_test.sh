#!/usr/bin/env bash
# The circle from outside: layouts and modes that must give the same numbers do, and outputs are there.
. "$(dirname "$0")/lib.sh"
flags=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 16 --num-rollout 3 --rollout-max-response-len 6 --lr 1e-3 --lr-decay-style constant
  --env-held-out 20 --eval-interval 3 --log-level warning
  --entropy-coef 0.01) # a random model never earns a reward: without it no sample would matter

first=$(trained sync 4 --trainer-ranks 1)
same "the same run again" "$first" "$(trained again 4 --trainer-ranks 1)"
same "one engine" "$first" "$(trained engines1 3 --trainer-ranks 1)"
same "three engines" "$first" "$(trained engines3 5 --trainer-ranks 1)"
same "two buffer ranks" "$first" "$(trained buffers2 4 --buffer-ranks 2 --trainer-ranks 1)"
same "async with staleness 0" "$first" "$(trained async0 4 --trainer-ranks 1 --mode async --max-weight-staleness 0)"
same "one step async with staleness 0" "$first" "$(trained one0 4 --trainer-ranks 1 --mode one_step_async --max-weight-staleness 0)"
same "colocated on one rank" "$first" "$(trained colocated1 1 --colocate)"
same "weights by messages" "$first" "$(trained messages 4 --buffer-ranks 2 --trainer-ranks 1 --weight-carrier messages)"
same "weights by messages, colocated" "$first" "$(trained messages1 1 --colocate --weight-carrier messages)"
same "weights that are compared after each change" "$first" "$(trained equal 3 --trainer-ranks 1 --check-weight-update-equal)"
same "weights by broadcast" "$first" "$(trained broadcast 4 --buffer-ranks 2 --trainer-ranks 1 --weight-carrier broadcast)"
same "weights by broadcast, async with staleness 0" "$first" "$(trained broadcast0 4 --trainer-ranks 1 --mode async --max-weight-staleness 0 --weight-carrier broadcast)"
same "weights by broadcast, colocated" "$first" "$(trained broadcast1 1 --colocate --weight-carrier broadcast)"
same "full weight images" "$first" "$(trained full 3 --trainer-ranks 1 --update-weight-mode full)"

same "a sampling seed that is the run's" "$first" "$(trained sampling7 3 --trainer-ranks 1 --rollout-seed 7)"
checks=$((checks + 1))
[ "$first" != "$(trained sampling8 3 --trainer-ranks 1 --rollout-seed 8)" ] || fail "--rollout-seed changes nothing"

same "two threads an engine" "$first" "$(trained threads2 3 --trainer-ranks 1 --rollout-threads 2)"

# What the trainer recomputes has the bits of what the engines said.
checks=$((checks + 1))
grep -o '"train/train_rollout_logprob_abs_diff": [^,}]*' "$work/runs/sync/metrics.jsonl" | sort -u | diff - <(echo '"train/train_rollout_logprob_abs_diff": 0') ||
  fail "log-probs of trainer and engines differ"

# The same bits on processors with and without AVX-512.
if [ "$(key "$work/runs/sync/summary.json" cpu)" = avx512 ]; then
  same "kernels for AVX2" "$first" "$(PHYSARUM_CPU=avx2 trained avx2 3 --trainer-ranks 1)"
fi

two=$(trained trainers2 4 --trainer-ranks 2)
same "two trainers, again" "$two" "$(trained trainers2b 4 --trainer-ranks 2)"
same "weights by broadcast, colocated on two ranks" "$two" "$(trained broadcast2 2 --colocate --weight-carrier broadcast)"
same "colocated on two ranks" "$two" "$(trained colocated2 2 --colocate)"

for mode in one_step_async async; do
  checks=$((checks + 1))
  [ -n "$(trained "$mode" 4 --trainer-ranks 1 --mode $mode --max-weight-staleness 1)" ] || fail "$mode has no checksum"
done

# Every second version, and one in two of those in full: what is sampled has no other.
checks=$((checks + 1))
trained interval2 4 --trainer-ranks 1 --mode async --max-weight-staleness 1 --update-weights-interval 2 --num-rollout 5 \
  --update-weight-mode delta --update-weight-full-interval 2 --eval-interval 2 --lr 1e-6 >"$work/interval2.txt"
/usr/bin/python3 - "$work/runs/interval2" <<'PYTHON' || fail "versions that --update-weights-interval does not allow"
import glob, json, sys
try:
    import h5py
    versions = set()
    for path in glob.glob(sys.argv[1] + "/**/samples_*.h5", recursive=True):
        with h5py.File(path) as file:
            versions |= set(file["versions/version/values"][:].tolist())
    assert versions == {0, 2, 4}, versions
except ImportError:
    pass
steps = [json.loads(line) for line in open(sys.argv[1] + "/metrics.jsonl")]
published = [s["step"] + 1 for s in steps if "perf/update_weights_density" in s]
full = [s["step"] + 1 for s in steps if s.get("perf/update_weights_density") == 1]
assert published == [1, 2, 4, 5] and full == [1, 4], (published, full)  # 1: with version 0, before it
PYTHON

checks=$((checks + 1))
for name in command seed ranks seconds exit steps final_weights_checksum train/loss eval/arithmetic; do
  [ -n "$(key "$work/runs/sync/summary.json" "$name")" ] || fail "summary.json has no $name"
done
python3 - "$work/runs/sync/metrics.jsonl" <<'PYTHON' || fail "the way of the weights does not show in the metrics"
import json, sys
steps = [json.loads(line) for line in open(sys.argv[1])]
total = {}
for step in steps:
    for name, value in step.items():
        total[name] = total.get(name, 0) + value
# Two engines pull versions 0, 1 and 2, and wait for each.
assert total["perf/pull_weights_count"] >= 4 and total["perf/swap_weights_count"] >= 4, total
for name in ("bytes", "get_time", "verify_time"): assert total["perf/pull_weights_" + name] > 0, name
for name in ("encode_time", "put_time", "image_bytes", "wire_bytes"): assert total["perf/update_weights_" + name] > 0, name
assert total["perf/swap_weights_time"] > 0 and total["perf/pull_weights_failures"] == 0, total
assert total["perf/pull_weights_retries"] >= 0 and total["perf/pull_weights_versions_behind"] >= 0, total
PYTHON
[ "$(grep -c train/loss "$work/runs/sync/metrics.jsonl")" = 3 ] || fail "metrics.jsonl has not 3 steps"
ls "$work/runs/sync/"events.out.tfevents.* >/dev/null || fail "no TensorBoard events"
finish
