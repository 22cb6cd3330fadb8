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
# weights and moments in its last checkpoint.
facts() {
  sed -E 's/"time": [^,}]*,? ?//; s/"(perf\/[^"]*|rollout\/fully_async\/queue_size)": [^,}]*,? ?//g; s/, ?}/}/' "$1/metrics.jsonl"
  grep -E '"(name|digest)": ' "$1/checkpoints/$(cat "$1/checkpoints/latest")/manifest.json" | head -n -1
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
