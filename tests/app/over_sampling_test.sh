#!/usr/bin/env bash
# Steps that draw more than they take, from outside: nothing is learnt from twice, nothing is lost, and what goes on in
# a later step is what it would have been.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=
# Answers end with the first token that has a "k" in it: their lengths are all different, and most take longer than a rank
# waits for its turn on a machine that has too much to do. So some are unfinished whenever four groups are complete.
common=(--hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --rollout-max-response-len 300 --rollout-stop k --log-level warning)
training=(train "${common[@]}" --global-batch-size 16 --num-rollout 6 --lr 1e-3 --lr-decay-style constant
  --entropy-coef 0.01)
partial=(--over-sampling-batch-size 8 --partial-rollout)

# run NAME RANKS FLAG...
run() {
  local name=$1 ranks=$2
  shift 2
  checks=$((checks + 1))
  launch "$ranks" "$@" --run-name "$name" >"$work/$name.out" 2>&1 || fail "run $name: $(tail -n 3 "$work/$name.out")"
}
# samples NAME ARGUMENT...: what tests/app/check_over_sampling.py has to say.
samples() {
  local name=$1
  shift
  [ -n "$python" ] || return 0
  checks=$((checks + 1))
  "$python" tests/app/check_over_sampling.py "$work/runs/$name" "$@" >"$work/$name.check" || fail "$name: $(cat "$work/$name.check")"
}
counted() { # NAME KEY: at least once
  checks=$((checks + 1))
  [ "$(key "$work/runs/$1/summary.json" "$2")" -gt 0 ] || fail "$1: no $2"
}
differences() { # NAME: between log-probs of trainer and engines, in all steps
  grep -o '"train/train_rollout_logprob_abs_diff": [^,}]*' "$work/runs/$1/metrics.jsonl" | sort -u
}

run partial 4 "${training[@]}" --trainer-ranks 1 "${partial[@]}"
samples partial --steps 6 --mixed
counted partial resumed_groups
counted partial reused_tokens
checks=$((checks + 1))
[ "$(key "$work/runs/partial/summary.json" discarded_groups)" = 0 ] || fail "partial: groups were discarded"
grep -q '"rollout/over_sampling/offpolicy_token_ratio": 0\.' "$work/runs/partial/metrics.jsonl" || fail "partial: no metric of older tokens"

# Only tokens of a step's own version are learnt from: what the trainer recomputes has the bits of what the engines said,
# also behind tokens that were read again by other weights.
run masked 4 "${training[@]}" --trainer-ranks 1 "${partial[@]}" --mask-offpolicy-in-partial-rollout
samples masked --steps 6 --mixed --masked
checks=$((checks + 1))
[ "$(differences masked)" = '"train/train_rollout_logprob_abs_diff": 0' ] || fail "masked: log-probs of trainer and engines differ"
[ "$(differences partial)" != '"train/train_rollout_logprob_abs_diff": 0' ] || fail "partial: nothing is off-policy"

run discarding 5 "${training[@]}" --trainer-ranks 1 --buffer-ranks 2 --over-sampling-batch-size 8
samples discarding --steps 6
counted discarding discarded_groups
checks=$((checks + 1))
[ "$(differences discarding)" = '"train/train_rollout_logprob_abs_diff": 0' ] || fail "discarding: log-probs of trainer and engines differ"

# A random model earns no reward: all groups are alike, and only the fallback makes a batch of them.
run colocated 2 "${training[@]}" --colocate "${partial[@]}" --dynamic-sampling-filter check_reward_nonzero_std_with_fallback
samples colocated --steps 6
counted colocated filtered_groups
checks=$((checks + 1))
launch 3 "${training[@]}" --trainer-ranks 1 --dynamic-sampling-filter check_reward_nonzero_std --run-name filtered >"$work/filtered.out" 2>&1
[ $? = 3 ] && grep -q 'step 0 has dropped [0-9]* groups and is not full' "$work/filtered.out" || fail "filtered: $(tail -n 3 "$work/filtered.out")"

# Stopped and gone on with: unfinished groups are in the checkpoint.
run resumed 4 "${training[@]}" --num-rollout 3 --trainer-ranks 1 "${partial[@]}" --save-interval 3
launch 1 inspect "$work/runs/resumed/checkpoints/step-3" >"$work/inspect.out" 2>&1
grep -q '^unfinished: [1-9][0-9]* groups, [1-9][0-9]* tokens' "$work/inspect.out" || fail "resumed: $(cat "$work/inspect.out")"
run resumed 5 "${training[@]}" --trainer-ranks 1 "${partial[@]}" --save-interval 3 --resume
samples resumed --steps 6 --mixed

run generated 3 generate "${common[@]}" --num-rollout 3 "${partial[@]}"
samples generated --steps 3
finish
