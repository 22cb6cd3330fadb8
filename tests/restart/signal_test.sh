#!/usr/bin/env bash
# A signal to the launcher or to any one rank: checkpoint, code 75, and --resume ends with the bits of a run that
# nobody disturbed. A second signal ends the run at once.
. "$(dirname "$0")/lib.sh"
run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 8
  --n-samples-per-prompt 4 --global-batch-size 32 --rollout-max-response-len 24 --lr 1e-3 --lr-decay-style constant
  --env-held-out 12 --eval-interval 20 --entropy-coef 0.01)

# start FLAG...: begins the run $name; launch_pid. Waits until its steps go by. It has so many that the signal finds it,
# however fast it is and however late the signal comes.
start() {
  jobs/launch -n 4 "${run[@]}" --run-name "$name" --num-rollout 1000000 "$@" </dev/null >"$work/$name.out" 2>&1 &
  launch_pid=$!
  wait_until 200 "$name: a second step" steps_go_by || fail "$name: $(tail -n 3 "$work/$name.out")"
}
steps_go_by() { [ "$(grep -cs train/loss "$work/runs/$name/metrics.jsonl")" -ge 2 ] 2>/dev/null; }
stopped() { # checks that the run has ended with a checkpoint; steps: how many it has finished
  wait "$launch_pid"
  code=$?
  checks=$((checks + 3))
  [ "$code" = 75 ] || fail "$name: code $code instead of 75: $(tail -n 3 "$work/$name.out")"
  [ "$(key "$work/runs/$name/summary.json" exit)" = 75 ] || fail "$name: the summary does not say 75"
  steps=$(key "$work/runs/$name/summary.json" steps)
  [ "$steps" -gt 0 ] || fail "$name: stopped after $steps steps"
  [ -d "$work/runs/$name/checkpoints/step-$steps" ] || fail "$name: no checkpoint of step $steps"
}

name=launcher
start
kill -USR1 "$launch_pid"
stopped
last=$((steps + 30))
for name in launcher whole; do
  launch 4 "${run[@]}" --run-name "$name" --resume --num-rollout "$last" --save-interval "$last" >"$work/again.out" 2>&1 ||
    fail "$name: $(tail -n 3 "$work/again.out")"
done
same_run "$work/runs/whole" "$work/runs/launcher"

for who in 0 1 3; do # buffer, trainer, rollout
  name=rank$who
  start
  mapfile -t ranks < <(ranks_of "$launch_pid")
  kill -TERM "${ranks[who]}"
  stopped
done
name=async
start --mode one_step_async --async-save
kill -TERM "$launch_pid"
stopped

# A file asks for a checkpoint; the one of this very step is there already and is left alone.
touch "$work/now"
name=rank1
steps=$(key "$work/runs/$name/summary.json" steps)
before=$(stat -c %i "$work/runs/$name/checkpoints/step-$steps")
launch 4 "${run[@]}" --run-name "$name" --resume --num-rollout $((steps + 2)) --save-trigger-sentinel "$work/now" >"$work/again.out" 2>&1 || fail "$name: $(tail -n 3 "$work/again.out")"
checks=$((checks + 2))
grep -q "is there already" "$work/again.out" || fail "$name: the checkpoint that is there was written again"
[ ! -e "$work/now" ] && ls -i "$work/runs/$name/checkpoints" | grep -q "^ *$before step-" || fail "$name: the checkpoint was replaced"

# A rank that hangs keeps the checkpoint from being made: only a second signal ends the run.
name=twice
start
mapfile -t ranks < <(ranks_of "$launch_pid")
kill -STOP "${ranks[1]}"
kill -USR1 "$launch_pid"
sleep 1.5
checks=$((checks + 2))
kill -0 "$launch_pid" 2>/dev/null || fail "$name: the first signal ended it"
kill -TERM "$launch_pid"
has_ended() { ! kill -0 "$launch_pid" 2>/dev/null; }
wait_until 120 "the run's end" has_ended || fail "$name: the second signal did not end it"
kill -9 "${ranks[@]}" 2>/dev/null
wait "$launch_pid"
code=$?
[ "$code" != 0 ] && [ "$code" != 75 ] || fail "$name: code $code"

# Without a directory for checkpoints a signal does what it does to any program.
name=nowhere
start --save ""
kill -USR1 "$launch_pid"
wait "$launch_pid"
code=$?
checks=$((checks + 1))
[ "$code" = 3 ] || fail "$name: code $code instead of 3"
finish
