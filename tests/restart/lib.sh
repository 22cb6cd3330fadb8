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

# kill_after MILLISECONDS RANKS ARGUMENT...: starts a run and kills all its ranks at once after that time, as a
# power cut would. killed=1 if it was still running; code is the launcher's exit code.
kill_after() {
  local ms=$1 launch_pid ranks
  shift
  jobs/launch -n "$@" </dev/null >>"$work/killed.out" 2>&1 &
  launch_pid=$!
  sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
  ranks=$(ranks_of "$launch_pid")
  killed=0
  # shellcheck disable=SC2086
  [ -n "$ranks" ] && kill -9 $ranks 2>/dev/null && killed=1
  wait "$launch_pid"
  code=$?
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
quick_run=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 8 --rollout-max-response-len 12 --lr 1e-3 --num-rollout 40
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
# Some kills come while it starts, most of them later, however fast the machine is.
killed_run() {
  local name=$1 kills=$2 ranks=$3 fired=0 i
  shift 3
  for ((i = 0; i < kills * 4 && fired < kills; ++i)); do
    kill_after $((whole_ms / 5 + RANDOM % whole_ms)) "$ranks" "${quick_run[@]}" --run-name "$name" --resume "$@"
    fired=$((fired + killed))
    # It came to its end, perhaps just before it was killed: once more from the start.
    ! grep -qs '"exit": 0' "$work/runs/$name/summary.json" || rm -r "$work/runs/$name"
  done
  [ "$fired" -ge "$kills" ] || fail "only $fired of $kills kills found a run"
  launch "$ranks" "${quick_run[@]}" --run-name "$name" --resume "$@" >>"$work/killed.out" 2>&1 ||
    fail "the last part of $name: $(tail -n 3 "$work/killed.out")"
  printf '%s: %s kills; %s\n' "$name" "$fired" "$(resumed_steps "$work/runs/$name")"
  [[ $(resumed_steps "$work/runs/$name") == *[0-9]* ]] || fail "$name: no part went on from a checkpoint"
}
