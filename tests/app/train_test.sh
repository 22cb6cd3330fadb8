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
same "weights from files" "$first" "$(trained file 4 --buffer-ranks 2 --trainer-ranks 1 --samples-jsonl --save-hf "$work/hf" --weight-carrier file --weight-directory "$work/w")"
same "weights from files, colocated" "$first" "$(trained file1 1 --colocate --weight-carrier file --weight-directory "$work/w1")"
same "weights from files, async with staleness 0" "$first" \
  "$(trained file0 4 --trainer-ranks 1 --mode async --max-weight-staleness 0 --check-weight-update-equal --weight-carrier file --weight-directory "$work/w0")"
checks=$((checks + 1))
! grep -h "is taken from the buffer ranks" "$work"/file*.out || fail "an engine did not read files"
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
  --update-weight-mode delta --update-weight-full-interval 2 --eval-interval 2 --lr 1e-6 --save-hf "$work/hf2" \
  --weight-carrier file --weight-directory "$work/w2" >"$work/interval2.txt"
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

# Another job takes the newest version from the files.
evaluation=(evaluate --runs-dir "$work/runs" --seed 7 --rollout-max-response-len 6 --env-held-out 20)
launch 2 "${evaluation[@]}" --run-name of-hf --hf-checkpoint "$work/hf" >"$work/of-hf.txt" 2>&1 || fail "evaluation of trained weights"
trained_weights=$(key "$work/runs/of-hf/summary.json" weights_checksum)
other=("${evaluation[@]}" --hf-checkpoint inputs/model-small --init random --weight-carrier file)
for name in w w1; do
  launch 2 "${other[@]}" --run-name "of-$name" --samples-jsonl --weight-directory "$work/$name" >"$work/of-$name.txt" 2>&1 ||
    fail "evaluation of files: $(tail -n 3 "$work/of-$name.txt")"
  same "weights from files" "$trained_weights" "$(key "$work/runs/of-$name/summary.json" weights_checksum)"
  checks=$((checks + 3))
  [ "$(key "$work/runs/of-$name/summary.json" weight_version)" = 3 ] || fail "not the newest version of $name"
  [ "$(key "$work/runs/of-$name/summary.json" eval/arithmetic)" = "$(key "$work/runs/file/summary.json" eval/arithmetic)" ] ||
    fail "another evaluation than the training run's"
  cmp -s "$work/runs/of-$name/samples/eval_3.jsonl" "$work/runs/file/samples/eval_3.jsonl" || fail "other answers than the training run's"
done
# The newest of these is a delta after a full image.
checks=$((checks + 1))
delta=$work/w2/weights-5-after-4-part-0-of-1.h5
[ -s "$delta" ] && [ ! -e "$work/w2/weights-5-full-part-0-of-1.h5" ] || fail "no delta among: $(ls "$work/w2")"
launch 2 "${evaluation[@]}" --run-name of-hf2 --hf-checkpoint "$work/hf2" >"$work/of-hf2.txt" 2>&1 || fail "evaluation of trained weights"
launch 2 "${other[@]}" --run-name of-w2 --weight-directory "$work/w2" >"$work/of-w2.txt" 2>&1 || fail "evaluation of a delta"
same "weights from a delta" "$(key "$work/runs/of-hf2/summary.json" weights_checksum)" "$(key "$work/runs/of-w2/summary.json" weights_checksum)"
expect "the version is said" "weights of version 3 from $work/w\$" "$work/of-w.txt"
newest=$(ls "$work/w"/weights-3-*-part-1-of-2.h5)
"${PHYSARUM_PROGRAM:-build/bin/physarum}" inspect "$newest" >"$work/inspect.txt" </dev/null || fail "inspect of a weight file"
expect "inspect" '^weight version: 3$' "$work/inspect.txt"
expect "inspect" '^part: 1 of 2, [0-9]+ bytes that have their digest, [1-9][0-9]* blocks$' "$work/inspect.txt"
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  checks=$((checks + 1))
  /usr/bin/python3 - "$newest" <<'PYTHON' || fail "a weight file is not what the page of its format says"
import sys
import h5py
with h5py.File(sys.argv[1]) as file:
    attributes = dict(file.attrs)
    text = lambda name: attributes[name].decode() if isinstance(attributes[name], bytes) else attributes[name]
    assert text("format") == "physarum.weights" and attributes["format_version"] == 2
    assert attributes["weight_version"] == 3 and attributes["part"] == 1 and attributes["parts"] == 2
    assert attributes["base_version"] < 3 and text("transfer_type") == "bf16"
    assert file["digests"].shape[1] == 2 and len(text("payload_digest")) == 32
PYTHON
fi

# --resume, where there is no checkpoint to go on from: the run begins anew in its own directory, and in no other's.
same "weights from files, begun anew" "$first" "$(trained file0 4 --trainer-ranks 1 --resume --weight-carrier file --weight-directory "$work/w0")"

# What is wrong with files is one line; a damaged version has an older one before it.
damaged=("${other[@]}" --run-name damaged --weight-directory)
refused 2 "no-such: there is no such directory; " -- "${damaged[@]}" "$work/no-such"
refused 2 "w1: no weight version can be used; the newest: .*of another model" -- "${damaged[@]}" "$work/w1" --update-weight-transfer-type f32
refused 2 "\-\-weight-directory: the carrier 'file' has no directory" -- "${other[@]}"
refused 2 "\-\-weight-directory: only the carrier 'file' has a directory" -- "${other[@]}" --weight-carrier auto --weight-directory "$work/w"
refused 4 "w: the directory holds weight versions already" -- "${flags[@]}" --run-name again2 --trainer-ranks 1 --weight-carrier file --weight-directory "$work/w"
refused 4 "w: the directory holds weight versions already" -- "${flags[@]}" --run-name again2 --resume --trainer-ranks 1 --weight-carrier file --weight-directory "$work/w"
refused 2 "sync.out: the directory cannot be read: " -- "${damaged[@]}" "$work/sync.out"
/usr/bin/python3 - "$delta" <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[data.index(b"PHWG") + 40] ^= 1
open(sys.argv[1], "wb").write(data)
PYTHON
checks=$((checks + 1))
"${PHYSARUM_PROGRAM:-build/bin/physarum}" inspect "$delta" >"$work/inspect.txt" 2>/dev/null </dev/null && fail "inspect finds no damage"
expect "inspect" 'damaged: .*the payload does not have its digest' "$work/inspect.txt"
launch 2 "${damaged[@]}" "$work/w2" >"$work/damaged.txt" 2>&1 || fail "evaluation of an older version: $(tail -n 3 "$work/damaged.txt")"
expect "a damaged delta" "a weight version is left out: .*$(basename "$delta")" "$work/damaged.txt"
checks=$((checks + 1))
[ "$(key "$work/runs/damaged/summary.json" weight_version)" = 4 ] || fail "not the version before the damaged delta"
truncate -s -1 "$newest"
launch 2 "${damaged[@]}" "$work/w" >"$work/damaged.txt" 2>&1 || fail "evaluation of an older version: $(tail -n 3 "$work/damaged.txt")"
expect "a damaged version" "a weight version is left out: .*$(basename "$newest")" "$work/damaged.txt"
checks=$((checks + 1))
[ "$(key "$work/runs/damaged/summary.json" weight_version)" = 2 ] || fail "not the version before the damaged one"

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
