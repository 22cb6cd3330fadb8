# Helpers of the program's outside tests. Sourced with: $root, $work (a fresh folder), launch().
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
. jobs/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
checks=0

launch() { # RANKS ARGUMENT...
  local ranks=$1
  shift
  timeout 300 jobs/launch -n "$ranks" "$@"
}

fail() { failures=$((failures + 1)); printf 'FAILED: %s\n' "$*"; }

# wait_until SECONDS WHAT COMMAND...: tests wait for what has happened, never for a time; SECONDS only bounds it.
wait_until() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $deadline ] || { echo "$(basename "$0"): $what did not happen" >&2; return 1; }
    sleep 0.2
  done
}

# refused RANKS PATTERN -- ARGUMENT...: exit code 2, exactly one line, from one rank, that matches.
refused() {
  local ranks=$1 pattern=$2 output code lines
  shift 3
  checks=$((checks + 1))
  output=$(launch "$ranks" "$@" 2>&1 >/dev/null)
  code=$?
  lines=$(printf '%s\n' "$output" | grep -c .)
  [ "$code" = 2 ] || fail "code $code instead of 2 for: $*: $output"
  [ "$lines" = 1 ] || fail "$lines lines instead of 1 for: $*: $output"
  printf '%s\n' "$output" | grep -qE "$pattern" || fail "message does not match /$pattern/ for: $*: $output"
}

expect() { # WHAT PATTERN FILE
  checks=$((checks + 1))
  grep -qE -- "$2" "$3" || fail "$1: no /$2/ in: $(head -c 1500 "$3")"
}

# key FILE NAME: the value of one key of a summary.
key() { run_value "$@"; }

# trained NAME RANKS FLAG...: the checksum of the final weights of a run with "${flags[@]}" and these.
trained() {
  local name=$1 ranks=$2
  shift 2
  launch "$ranks" "${flags[@]}" --run-name "$name" "$@" >"$work/$name.out" 2>&1 || fail "run $name: $(tail -n 3 "$work/$name.out")"
  key "$work/runs/$name/summary.json" final_weights_checksum
}
same() { # NAME EXPECTED GOT
  checks=$((checks + 1))
  [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: checksum '$3' instead of '$2'"
}

finish() {
  if [ "$failures" -gt 0 ]; then printf '%s checks, %s failed\n' "$checks" "$failures"; exit 1; fi
  printf '%s checks, all good\n' "$checks"
}
