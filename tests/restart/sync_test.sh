#!/usr/bin/env bash
# A run in sync mode that is killed again and again, anywhere, ends with the bits of a run that was not: weights,
# optimiser, metrics, and the samples that it learnt from.
#
#   tests/restart/sync_test.sh [KILLS]     default 8 in all; 50 takes some minutes
. "$(dirname "$0")/lib.sh"
kills=${1:-8}
RANDOM=${PHYSARUM_TEST_SEED:-42}
run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 8 --rollout-max-response-len 12 --lr 1e-3 --num-rollout 40
  --env-held-out 12 --eval-interval 5 --entropy-coef 0.01 --save-interval 1)

launch 4 "${run[@]}" --run-name whole >"$work/whole.out" 2>&1 || fail "the run that is not killed: $(tail -n 3 "$work/whole.out")"
for save in --no-async-save --async-save; do
  name=killed$save
  fired=0
  for ((i = 0; i < kills * 2 && fired < kills / 2; ++i)); do
    kill_after $((300 + RANDOM % 900)) 4 "${run[@]}" --run-name "$name" --resume $save
    fired=$((fired + killed))
    [ "$code" != 0 ] || rm -r "$work/runs/$name" # it came to its end: once more from the start
  done
  [ "$fired" -ge $((kills / 2)) ] || fail "only $fired of $((kills / 2)) kills found a run"
  launch 4 "${run[@]}" --run-name "$name" --resume $save >>"$work/killed.out" 2>&1 || fail "the last part of $name: $(tail -n 3 "$work/killed.out")"
  same_run "$work/runs/whole" "$work/runs/$name"
  printf '%s: %s kills; %s\n' "$save" "$fired" "$(resumed_steps "$work/runs/$name")"
done
! grep -E 'damaged|error:' "$work/killed.out" || fail "see above"
finish
