#!/usr/bin/env bash
# How the program ends and what the user sees of it: exit code, and at most one line.
#   ending_test.sh LAUNCH PROGRAM
set -u
launch=$1
program=$2
failures=0

# expect CODE LINE HOW [RANKS]: the exit code, and all of the output.
expect() {
  local output code
  output=$("$launch" -n "${4:-3}" --program "$program" "$3" 2>&1)
  code=$?
  if [ "$code" != "$1" ] || [[ ! $output =~ ^$2$ ]]; then
    echo "FAILED $3: code $code (expected $1), output: $output"
    failures=$((failures + 1))
  fi
}
expect 0 '' nothing
expect 2 "physarum: run.toml:3: unknown key 'lrr'; did you mean 'lr'\?" user-error
expect 3 "physarum: rank 0 of 3 in 'world', phase 'publish': waited 0.5 s for barrier" late-rank
expect 3 '' leave
expect 3 'launch: rank 2 on .* was ended by signal 9 \(Killed\)' kill

# Without a launcher the world has one rank.
output=$("$program" user-error 2>&1)
code=$?
[ "$code" = 2 ] || { echo "FAILED without launcher: code $code, output: $output"; failures=$((failures + 1)); }

# What mpirun says about ranks that have left is dropped, what it says about anything else is kept.
fake=$(mktemp)
printf '%s\n' '#!/bin/sh' 'echo "[vm:27733] PMIX ERROR: PMIX_ERR_UNREACH in file /a/pmix_server.c at line 3146" >&2' \
  'echo "[warn] Epoll MOD(4) on fd 23 failed. Old events were 6; read change was 2 (del): Bad file descriptor" >&2' \
  'echo "physarum: error: one" >&2' 'echo "[vm:1] PMIX ERROR: PMIX_ERR_NOMEM in file /a/pmix_server.c at line 1" >&2' 'exit 2' > "$fake"
chmod +x "$fake"
output=$(PHYSARUM_MPIRUN=$fake "$launch" -n 2 --program "$program" nothing 2>&1)
code=$?
expected=$'physarum: error: one\n[vm:1] PMIX ERROR: PMIX_ERR_NOMEM in file /a/pmix_server.c at line 1'
[ "$code" = 2 ] && [ "$output" = "$expected" ] || { echo "FAILED filter: code $code, output: $output"; failures=$((failures + 1)); }
# It is ended when it stays though nothing is left, and only then.
printf '%s\n' '#!/bin/sh' 'echo "a rank speaks"' 'exec tail -f /dev/null' > "$fake"
output=$(PHYSARUM_END_PATIENCE=2 PHYSARUM_MPIRUN=$fake "$launch" -n 2 --program "$program" nothing 2>&1)
code=$?
expected=$'a rank speaks\nlaunch: mpirun has had no process left for 2 s and does not end; it is ended'
[ "$code" = 3 ] && [ "$output" = "$expected" ] || { echo "FAILED stays: code $code, output: $output"; failures=$((failures + 1)); }
printf '%s\n' '#!/bin/sh' 'sleep 6' 'exit 2' > "$fake"
output=$(PHYSARUM_END_PATIENCE=2 PHYSARUM_MPIRUN=$fake "$launch" -n 2 --program "$program" nothing 2>&1)
code=$?
[ "$code" = 2 ] && [ -z "$output" ] || { echo "FAILED works: code $code, output: $output"; failures=$((failures + 1)); }
rm -f "$fake"

# A signal to the launcher reaches all ranks; its exit code is theirs.
for signal in USR1 TERM; do
  log=$(mktemp)
  "$launch" -n 3 --program "$program" signal 2>"$log" &
  pid=$!
  for _ in $(seq 900); do grep -q ready "$log" && break; sleep 0.1; done
  kill -$signal "$pid"
  wait "$pid"
  code=$?
  [ "$code" = 75 ] || { echo "FAILED $signal: code $code, output: $(cat "$log")"; failures=$((failures + 1)); }
  rm -f "$log"
done
exit "$failures"
