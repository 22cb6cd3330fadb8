#!/usr/bin/env bash
# Makes the Python environment of the peer and prints its interpreter's path; a second call only checks.
#   benchmarks/grpo_vs_trl/make_environment.sh        into $PHYSARUM_BENCH_ENV, or build/peer-trl
set -euo pipefail
cd "$(dirname "$0")/../.."
. benchmarks/lib.sh
place=${PHYSARUM_BENCH_ENV:-$PWD/build/peer-trl}
wanted='trl 1.16 and torch 2.15.0'

ready() {
  [ -x "$place/bin/python" ] && "$place/bin/python" - <<'PYTHON' 2>/dev/null
import importlib.metadata as m, sys
sys.exit(not (m.version("trl").startswith("1.16.") and m.version("torch").startswith("2.15.0") and m.version("transformers")))
PYTHON
}

if ! ready; then
  echo "peer: installing $wanted into $place (about 4 GB)" >&2
  make_venv "$place"
  "$place/bin/pip" install --quiet --disable-pip-version-check 'torch==2.15.0' 'trl==1.16.*' 'transformers==5.24.0' >&2
  ready || { echo "peer: $place does not have $wanted after the installation" >&2; exit 3; }
fi
printf '%s\n' "$place/bin/python"
