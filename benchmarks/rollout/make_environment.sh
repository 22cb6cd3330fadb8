#!/usr/bin/env bash
# Makes the Python environment of a peer and prints its interpreter's path; a second call only checks.
#   benchmarks/rollout/make_environment.sh transformers   into $PHYSARUM_BENCH_ENV, or build/peer-trl
#   benchmarks/rollout/make_environment.sh llama          into $PHYSARUM_LLAMA_ENV, or build/peer-llama
# llama-cpp-python comes as source and is compiled for this machine: about ten minutes of two cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
. benchmarks/lib.sh
case "${1:-}" in
  transformers) exec benchmarks/grpo_vs_trl/make_environment.sh ;;
  llama) ;;
  *) sed -n '3,4p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
esac
place=${PHYSARUM_LLAMA_ENV:-$PWD/build/peer-llama}

ready() {
  [ -x "$place/bin/python" ] && "$place/bin/python" - <<'PYTHON' 2>/dev/null
import importlib.metadata as m, sys
sys.exit(not (m.version("llama-cpp-python") == "0.3.36" and m.version("gguf") and m.version("safetensors")))
PYTHON
}

if ! ready; then
  echo "peer: building llama-cpp-python 0.3.36 in $place" >&2
  make_venv "$place"
  # Tuned to this processor, as by default; without the library for images and without tools.
  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_OPENSSL=OFF" \
    nice "$place/bin/pip" install --quiet --disable-pip-version-check \
    'llama-cpp-python==0.3.36' 'gguf==0.19.0' 'safetensors>=0.4' numpy >&2
  ready || { echo "peer: $place does not have llama-cpp-python 0.3.36 after the installation" >&2; exit 3; }
fi
printf '%s\n' "$place/bin/python"
