#!/usr/bin/env bash
# Loading of a model's weights: five runs from a warm page cache, the slowest counts.
#   benchmarks/run.sh import MODEL       MODEL: a Hugging Face directory, for example SmolLM2-135M in bf16
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 1 ] || { sed -n '2,3p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target load_figures -- --quiet
program=build/benchmarks/load_figures
cat "$1"/*.safetensors > /dev/null
for _ in 1 2 3 4 5; do "$program" "$1"; done | awk '
  $1 == "figure" { if (!($2 in worst) || $3 > worst[$2]) { worst[$2] = $3; line[$2] = $0 } }
  END { for (name in line) print line[name] }' | sort
