#!/usr/bin/env bash
# One engine is killed while it generates and pulls weights by messages. Where MPI does not survive that (the default)
# the job ends at once with code 3, nothing is left of it, and --resume ends with the bits of a run that lost nobody.
# With ULFM the others make all steps to the same bits, and then the run says whom it misses: code 3.
. "$(dirname "$0")/lib.sh"
RANDOM=${PHYSARUM_TEST_SEED:-45}
weights=(--weight-carrier messages --update-weight-mode full)

# lose_engine NAME LAUNCHER_FLAG...: quick_run that loses its last rank, an engine, some steps after its start; code.
lose_engine() {
  local name=$1 metrics=$work/runs/$1/metrics.jsonl wanted=$((2 + RANDOM % 10)) i ranks
  shift
  jobs/launch -n 4 "$@" "${quick_run[@]}" --run-name "$name" "${weights[@]}" </dev/null >"$work/$name.out" 2>&1 &
  launch_pid=$!
  for ((i = 0; i < 1200; ++i)); do
    [ -s "$metrics" ] && [ "$(grep -c train/loss "$metrics")" -ge "$wanted" ] && break
    sleep 0.02
  done
  sleep "0.0$((RANDOM % 9))"
  mapfile -t ranks < <(ranks_of "$launch_pid")
  checks=$((checks + 1))
  [ "${#ranks[@]}" = 4 ] && kill -9 "${ranks[3]}" || fail "$name: no engine to kill: $(tail -n 3 "$work/$name.out")"
  for ((i = 0; i < 1200; ++i)); do
    kill -0 "$launch_pid" 2>/dev/null || break
    sleep 0.1
  done
  for i in "${ranks[@]}"; do
    readlink -q "/proc/$i/exe" >/dev/null || continue # gone, or about to be
    kill -9 "$i"
    fail "$name: a rank hangs: $(tail -n 3 "$work/$name.out")"
  done
  wait "$launch_pid"
  code=$?
}

whole_run 4 "${weights[@]}"
for i in 1 2 3; do
  lose_engine "lost$i"
  checks=$((checks + 2))
  [ "$code" = 3 ] || fail "lost$i: code $code instead of 3"
  grep -q "^launch: rank 3 on .* was ended by signal 9" "$work/lost$i.out" || fail "lost$i: not said: $(tail -n 3 "$work/lost$i.out")"
  launch 4 "${quick_run[@]}" --run-name "lost$i" "${weights[@]}" --resume >"$work/again.out" 2>&1 || fail "lost$i: $(tail -n 3 "$work/again.out")"
  same_run "$work/runs/whole" "$work/runs/lost$i"
done

if [ -n "${PHYSARUM_ULFM:-}" ]; then
  lose_engine survived --with-ft
  checks=$((checks + 4))
  [ "$code" = 3 ] || fail "survived: code $code instead of 3"
  grep -q "peer lost, rank 3" "$work/survived.out" || fail "survived: who is missing is not said: $(tail -n 3 "$work/survived.out")"
  [ "$(grep -c train/loss "$work/runs/survived/metrics.jsonl")" = "$run_steps" ] || fail "survived: not all steps were made"
  facts "$work/runs/whole" >"$work/expected.txt"
  facts "$work/runs/survived" | diff "$work/expected.txt" - >"$work/diff.txt" || fail "survived: $(head -n 6 "$work/diff.txt" | cut -c -300)"
fi
finish
