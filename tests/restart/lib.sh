# Helpers of the restart tests: runs that are killed as a machine would kill them.
. "$(dirname "${BASH_SOURCE[0]}")/../app/lib.sh"
program_name=$(basename "${PHYSARUM_PROGRAM:-build/bin/physarum}")
python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=

# ranks_of LAUNCH: the processes of a job that jobs/launch started.
ranks_of() {
  local child
  for child in $(pgrep -P "$1"); do pgrep -P "$child" "$program_name"; done
}

# run_step NAME: the last step that the run has left a checkpoint of; 0 before the first.
run_step() {
  local latest=
  read -r latest 2>/dev/null <"$work/runs/$1/checkpoints/latest"
  printf '%d' "$((10#0${latest//[!0-9]/}))"
}

# kill_when NAME STEP MILLISECONDS RANKS ARGUMENT...: starts a run and kills all its ranks at once, as a power cut
# would, so long after its checkpoint of that step. killed=1 if it was still running. Waiting for a step rather than
# for a time finds the same part of a run on a machine of any speed, and on a busy one.
kill_when() {
  local name=$1 step=$2 ms=$3 launch_pid ranks
  shift 3
  jobs/launch -n "$@" </dev/null >>"$work/killed.out" 2>&1 &
  launch_pid=$!
  while [ "$(run_step "$name")" -lt "$step" ] && kill -0 "$launch_pid" 2>/dev/null; do sleep 0.005; done
  sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
  ranks=$(ranks_of "$launch_pid")
  killed=0
  # shellcheck disable=SC2086
  [ -n "$ranks" ] && kill -9 $ranks 2>/dev/null && killed=1
  wait "$launch_pid"
}

# facts RUN: what must be the same for a run that was never killed: metrics without times, and the digests of all
# weights and moments in its last checkpoint. (By name: where HDF5 puts a dataset depends on the length of other texts.)
facts() {
  sed -E 's/"time": [^,}]*,? ?//; s/"(perf\/[^"]*|rollout\/fully_async\/queue_size)": [^,}]*,? ?//g; s/, ?}/}/' "$1/metrics.jsonl"
  grep -E '"(name|digest)": ' "$1/checkpoints/$(cat "$1/checkpoints/latest")/manifest.json" | head -n -1 | paste - - | sort
}

# same_run EXPECTED RUN
same_run() {
  local name
  name=$(basename "$2")
  checks=$((checks + 3))
  [ "$(key "$1/summary.json" final_weights_checksum)" = "$(key "$2/summary.json" final_weights_checksum)" ] || fail "$name: other weights"
  facts "$1" >"$work/expected.txt"
  facts "$2" >"$work/found.txt"
  [ "$(wc -l <"$work/expected.txt")" -gt 100 ] && diff "$work/expected.txt" "$work/found.txt" >"$work/diff.txt" ||
    fail "$name: $(head -n 6 "$work/diff.txt" | cut -c -300)"
  [ -z "$python" ] || "$python" tests/restart/compare_samples.py "$1" "$2" || fail "$name: other samples"
}

# resumed_steps RUN: where its parts began.
resumed_steps() {
  printf 'resumed from steps'
  sed -nE 's/.*going on from .*: ([0-9]+) of .*/ \1/p' "$1"/logs/*0* | tr -d '\n'
}

# A small run that is over in a second or two; every step leaves a checkpoint.
run_steps=40
quick_run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 8 --rollout-max-response-len 12 --lr 1e-3 --num-rollout "$run_steps"
  --env-held-out 12 --eval-interval 5 --entropy-coef 0.01 --save-interval 1)

# whole_run RANKS FLAG...: quick_run as "whole", not killed; notes how long it takes here and now.
whole_run() {
  local ranks=$1 before
  shift
  before=$(date +%s%N)
  launch "$ranks" "${quick_run[@]}" --run-name whole "$@" >"$work/whole.out" 2>&1 || fail "the run that is not killed: $(tail -n 3 "$work/whole.out")"
  whole_ms=$((($(date +%s%N) - before) / 1000000))
}

# killed_run NAME KILLS RANKS FLAG...: quick_run, killed so many times at moments of chance, and brought to its end.
# Every fourth kill comes while it starts; the others are spread over its steps, each at some moment of the two or so
# steps after a checkpoint, and end far enough from the last step that the run is still there.
killed_run() {
  local name=$1 kills=$2 ranks=$3 fired=0 tries step ms
  shift 3
  for ((tries = 0; tries < kills * 4 && fired < kills; ++tries)); do
    step=$((1 + (run_steps - 12) * fired / kills + RANDOM % 3))
    ms=$((RANDOM % (2 * whole_ms / run_steps + 1)))
    ((fired % 4 != 3)) || step=0 ms=$((whole_ms / 10 + RANDOM % (whole_ms / 4 + 1)))
    kill_when "$name" "$step" "$ms" "$ranks" "${quick_run[@]}" --run-name "$name" --resume "$@"
    fired=$((fired + killed))
    # It came to its end all the same, while this script was waiting for a processor: once more from the start.
    ! grep -qs '"exit": 0' "$work/runs/$name/summary.json" || rm -r "$work/runs/$name"
  done
  [ "$fired" -ge "$kills" ] || fail "only $fired of $kills kills found a run"
  launch "$ranks" "${quick_run[@]}" --run-name "$name" --resume "$@" >>"$work/killed.out" 2>&1 ||
    fail "the last part of $name: $(tail -n 3 "$work/killed.out")"
  printf '%s: %s kills; %s\n' "$name" "$fired" "$(resumed_steps "$work/runs/$name")"
  [[ $(resumed_steps "$work/runs/$name") == *[0-9]* ]] || fail "$name: no part went on from a checkpoint"
}
