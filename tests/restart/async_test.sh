#!/usr/bin/env bash
# Runs that generate ahead of training, killed again and again: no group is learnt from twice or lost, and no sample
# is older than it may be. one_step_async is as exact as sync.
#
#   tests/restart/async_test.sh [KILLS]     default 4 in all
. "$(dirname "$0")/lib.sh"
kills=${1:-4}
RANDOM=${PHYSARUM_TEST_SEED:-43}
run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 8 --rollout-max-response-len 12 --lr 1e-3 --num-rollout 40
  --env-held-out 12 --eval-interval 5 --entropy-coef 0.01 --save-interval 1)
killed_run() { # NAME FLAG...
  local name=$1 fired=0 i
  shift
  for ((i = 0; i < kills * 2 && fired < kills / 2; ++i)); do
    kill_after $((300 + RANDOM % 900)) 5 "${run[@]}" --run-name "$name" --resume "$@"
    fired=$((fired + killed))
    [ "$code" != 0 ] || rm -r "$work/runs/$name"
  done
  [ "$fired" -ge $((kills / 2)) ] || fail "only $fired of $((kills / 2)) kills found a run"
  launch 5 "${run[@]}" --run-name "$name" --resume "$@" >>"$work/killed.out" 2>&1 || fail "the last part of $name: $(tail -n 3 "$work/killed.out")"
  printf '%s: %s kills; %s\n' "$name" "$fired" "$(resumed_steps "$work/runs/$name")"
}

launch 5 "${run[@]}" --run-name whole --mode one_step_async >"$work/whole.out" 2>&1 || fail "one_step_async: $(tail -n 3 "$work/whole.out")"
killed_run one-step --mode one_step_async
same_run "$work/runs/whole" "$work/runs/one-step"

killed_run async --mode async --max-weight-staleness 2 --async-save
checks=$((checks + 1))
[ -z "$python" ] || "$python" tests/restart/compare_samples.py --async "$work/runs/async" 2 || fail "async"
finish
