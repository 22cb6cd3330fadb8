#!/usr/bin/env bash
# Runs one benchmark; prints a line per figure and writes the same as runs/benchmarks/NAME.json.
#   benchmarks/run.sh NAME          names: see benchmarks/README.md
# Run it on an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,4p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }
name=$1
shift
script=benchmarks/$name/run.sh
[ -x "$script" ] || { echo "benchmarks: no benchmark '$name'; there are: $(cd benchmarks && ls -d -- */run.sh 2>/dev/null | sed 's|/run.sh||' | tr '\n' ' ')" >&2; exit 2; }
mkdir -p runs/benchmarks
"$script" "$@" | tee "runs/benchmarks/$name.txt"
# figure <name> <value> <unit> goal <op> <goal>
awk 'BEGIN { print "{" } $1 == "figure" { printf "%s  \"%s\": {\"value\": %s, \"unit\": \"%s\", \"goal\": \"%s %s\"}", n++ ? ",\n" : "", $2, $3, $4, $6, $7 } END { print "\n}" }' \
  "runs/benchmarks/$name.txt" > "runs/benchmarks/$name.json"
rm "runs/benchmarks/$name.txt"
