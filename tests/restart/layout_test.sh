#!/usr/bin/env bash
# A run goes on with other numbers of trainer, rollout and buffer ranks: the state that it loads is the one that was
# saved, bit for bit, and where the number of trainers stays the rest of the run is the same, too.
. "$(dirname "$0")/lib.sh"
run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 16 --rollout-max-response-len 6 --lr 1e-3 --lr-decay-style constant
  --env-held-out 12 --eval-interval 3 --entropy-coef 0.01 --log-level warning)
go() { # NAME RANKS FLAG...
  local name=$1 ranks=$2
  shift 2
  launch "$ranks" "${run[@]}" --run-name "$name" "$@" >"$work/$name.out" 2>&1 || fail "$name: $(tail -n 3 "$work/$name.out")"
}
equal() { # WHAT EXPECTED FOUND
  checks=$((checks + 1))
  [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$3' instead of '$2'"
}

for trainers in 1 2 4; do
  go "whole$trainers" $((trainers + 2)) --trainer-ranks "$trainers" --num-rollout 6
  go "half$trainers" $((trainers + 2)) --trainer-ranks "$trainers" --num-rollout 3 --save-interval 3
  state=$(key "$work/runs/half$trainers/summary.json" state_checksum)
  for layout in "3 1 1 1" "4 1 1 2" "6 1 2 3" "6 2 2 2" "7 2 4 1" "5 2 1 2"; do
    read -r ranks buffers others engines <<<"$layout"
    name=from$trainers-to-$buffers-$others-$engines
    go "$name" "$ranks" --buffer-ranks "$buffers" --trainer-ranks "$others" --rollout-ranks "$engines" \
      --load "$work/runs/half$trainers/checkpoints" --num-rollout 6 --save-interval 6
    summary=$work/runs/$name/summary.json
    equal "$name: the loaded state" "$state" "$(key "$summary" resumed_state_checksum)"
    equal "$name: steps" 6 "$(key "$summary" steps)"
    [ "$others" != "$trainers" ] ||
      equal "$name: the end" "$(key "$work/runs/whole$trainers/summary.json" state_checksum)" "$(key "$summary" state_checksum)"
  done
done
go colocated 2 --colocate --load "$work/runs/half2/checkpoints" --num-rollout 6
equal "colocated: the end" "$(key "$work/runs/whole2/summary.json" state_checksum)" "$(key "$work/runs/colocated/summary.json" state_checksum)"
finish
