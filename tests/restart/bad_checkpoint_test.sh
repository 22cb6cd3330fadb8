#!/usr/bin/env bash
# Whatever is wrong with a checkpoint or with the wish to go on from one: one line, code 2; a damaged checkpoint is
# named and an older one taken; a disk that is full costs the checkpoint, not the run.
. "$(dirname "$0")/lib.sh"
run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 2
  --n-samples-per-prompt 2 --global-batch-size 4 --rollout-max-response-len 4 --lr 1e-3 --env-held-out 4
  --num-rollout 4 --trainer-ranks 1)
launch 3 "${run[@]}" --run-name good --save-interval 1 --keep-checkpoints 0 >"$work/good.out" 2>&1 || fail "good: $(tail -n 3 "$work/good.out")"
good=$work/runs/good/checkpoints
from=("${run[@]}" --run-name next --num-rollout 6 --lr-decay-iters 100)

# Where it is.
refused 3 "no such directory" -- "${run[@]}" --load "$work/nowhere"
mkdir "$work/empty"
refused 3 "holds no checkpoint" -- "${run[@]}" --load "$work/empty"
refused 3 "nothing is left to do: the checkpoint has finished 4 of 4 steps" -- "${run[@]}" --load "$good"
refused 3 "holds step-4 already.*--resume" -- "${run[@]}" --run-name other --save "$good"
refused 3 "holds step-4 already.*later than" -- "${run[@]}" --run-name good --load "$good/step-2"
touch "$work/file"
refused 3 "directory cannot be made|Not a directory" -- "${run[@]}" --save "$work/file/checkpoints"
refused 3 "no directory for checkpoints" -- "${run[@]}" --save "" --save-interval 1

# What it is of: every difference is named; what only tells where and how fast passes.
refused 3 "differs from its checkpoint: .*weight_decay: 0.01 in the checkpoint, 0.2 now; adam_beta1: 0.9 in the checkpoint, 0.8 now" -- \
  "${run[@]}" --load "$good/step-2" --run-name next --adam-beta1 0.8 --weight-decay 0.2
refused 3 "num_rollout: 4 in the checkpoint, 6 now" -- "${run[@]}" --load "$good/step-2" --run-name next --num-rollout 6
refused 3 "'seed' cannot be changed" -- "${run[@]}" --load "$good/step-2" --run-name next --allow-changed seed
refused 3 "no key 'sed'" -- "${run[@]}" --load "$good/step-2" --run-name next --allow-changed sed
refused 3 "prompts are not those" -- "${run[@]}" --load "$good/step-2" --run-name next --env-level add1 --allow-changed env_level
mkdir "$work/model"
cp inputs/model-small/*.json "$work/model/"
sed -i 's/"num_hidden_layers": [0-9]*/"num_hidden_layers": 1/' "$work/model/config.json"
refused 3 "checkpoint of another model \(num_hidden_layers" -- "${run[@]}" --load "$good/step-2" --run-name next --hf-checkpoint "$work/model"
checks=$((checks + 1))
launch 4 "${run[@]}" --load "$good/step-2" --run-name next --rollout-ranks 2 --eval-interval 2 --adam-beta1 0.8 --allow-changed adam_beta1 \
  >"$work/next.out" 2>&1 || fail "allowed changes: $(tail -n 3 "$work/next.out")"

# How weights travel is of no consequence for what is learnt.
for carrier in "rma --check-weight-update-equal" "file --weight-directory $work/weights"; do
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  launch 3 "${run[@]}" --load "$good/step-2" --run-name "by-${carrier%% *}" --weight-carrier $carrier >"$work/carrier.out" 2>&1 ||
    fail "another carrier ($carrier): $(tail -n 3 "$work/carrier.out")"
  [ "$(key "$work/runs/by-${carrier%% *}/summary.json" state_checksum)" = "$(key "$work/runs/good/summary.json" state_checksum)" ] ||
    fail "another carrier ($carrier): another end"
done

# Without the optimiser's state.
launch 3 "${run[@]}" --run-name bare --num-rollout 2 --save-interval 2 --no-save-optim --lr-decay-iters 4 >"$work/bare.out" 2>&1 || fail "bare"
refused 3 "no optimiser state.*--no-load-optim" -- "${run[@]}" --lr-decay-iters 4 --load "$work/runs/bare/checkpoints" --run-name next
checks=$((checks + 1))
launch 3 "${run[@]}" --lr-decay-iters 4 --load "$work/runs/bare/checkpoints" --run-name next --no-load-optim >"$work/next.out" 2>&1 ||
  fail "no optimiser: $(tail -n 3 "$work/next.out")"

# flip FILE OFFSET: one bit.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N1 "$1" | tr -d ' ')
  printf "\\x$(printf %02x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
cp -r "$good" "$work/damaged"
rm -r "$work/damaged/step-1"
size=$(stat -c %s "$work/damaged/step-4/checkpoint.h5")
flip "$work/damaged/step-4/checkpoint.h5" $((size / 2))
truncate -s -1 "$work/damaged/step-3/checkpoint.h5"
checks=$((checks + 3))
launch 3 "${run[@]}" --run-name fallback --load "$work/damaged" --save "$work/damaged" --save-interval 4 >"$work/fallback.out" 2>&1 ||
  fail "fallback: $(tail -n 3 "$work/fallback.out")"
for step in 4 3; do
  grep -q "damaged and passed over: .*step-$step" "$work/fallback.out" || fail "step-$step is not named: $(cat "$work/fallback.out")"
done
grep -q "going on from .*step-2" "$work/fallback.out" || fail "step-2 was not taken"
[ -d "$work/damaged/damaged-step-3" ] && [ -d "$work/damaged/damaged-step-4" ] || fail "damaged checkpoints were not set aside"
[ "$(key "$work/runs/fallback/summary.json" state_checksum)" = "$(key "$work/runs/good/summary.json" state_checksum)" ] || fail "fallback: another end"
rm -r "$work/damaged/step-4"
flip "$work/damaged/step-2/manifest.json" 100
refused 3 "none of 1 checkpoints is intact" -- "${run[@]}" --load "$work/damaged" --run-name next

# Two jobs, one directory.
jobs/launch -n 3 "${run[@]}" --run-name long --num-rollout 100000 --save "$work/shared" >"$work/long.out" 2>&1 </dev/null &
long=$!
wait_until 200 "the first job's lock" test -s "$work/shared/.lock" || fail "the first of two jobs: $(tail -n 3 "$work/long.out")"
refused 3 "another job writes to this directory \(host .*, process [0-9]+, job " -- "${run[@]}" --run-name second --save "$work/shared"
refused 3 "another job writes to this directory" -- "${run[@]}" --run-name long
kill -USR1 "$long"
wait "$long"
code=$?
checks=$((checks + 1))
[ "$code" = 75 ] || fail "the first of two jobs: code $code"

# A disk that fills up: the run goes on, the checkpoint before stays, the exit code tells. Needs a small disk.
mkdir "$work/small"
if mount -t tmpfs -o size=34m tmpfs "$work/small" 2>/dev/null; then
  launch 3 "${run[@]}" --run-name full --save "$work/small/checkpoints" --save-interval 1 --keep-checkpoints 0 >"$work/full.out" 2>&1
  code=$?
  checks=$((checks + 2))
  kept=$(ls "$work/small/checkpoints" | tr '\n' ' ')
  umount "$work/small"
  [ "$code" = 3 ] || fail "full disk: code $code: $(tail -n 3 "$work/full.out")"
  grep -q "could not be written; the one before stays" "$work/full.out" || fail "full disk: not said"
  [ "$kept" = "latest step-1 " ] || fail "full disk: left '$kept'"
  [ "$(key "$work/runs/full/summary.json" steps)" = 4 ] || fail "full disk: the run did not go on"
fi
finish
