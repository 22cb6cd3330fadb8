#!/usr/bin/env bash
# The decode engine alone against transformers, llama.cpp and the machine, in turns; medians of the rounds.
#   benchmarks/run.sh rollout [PART...]     parts: machine transformers llama prefix swap soak; default: all
#   ROUNDS (3), THREADS (1), STEPS (24 timed steps for each number of sequences), REQUESTS (20000 of soak),
#   SMOLLM2 (a Hugging Face directory; default: made from the model of jobs/setup.sh --smollm2)
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${ROUNDS:-3} threads=${THREADS:-1} steps=${STEPS:-24} requests=${REQUESTS:-20000}
parts=" ${*:-machine transformers llama prefix swap soak} "
for part in $parts; do
  case "$part" in
    machine|transformers|llama|prefix|swap|soak) ;;
    *) sed -n '2,5p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
  esac
done
wanted() { case "$parts" in *" $1 "*) ;; *) return 1 ;; esac; }
here=benchmarks/rollout
place=build/bench-rollout
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target engine_figures machine_limits -- --quiet
python=$("$here/make_environment.sh" transformers)
if wanted llama; then llama_python=$("$here/make_environment.sh" llama); fi
mkdir -p "$place"

smollm2=${SMOLLM2:-$place/smollm2}
if [ ! -e "$smollm2/model.safetensors" ]; then
  jobs/setup.sh --smollm2 >&2
  cmake --build --preset release --target physarum -- --quiet
  jobs/launch -n 1 convert "${PHYSARUM_DEPS:-.deps}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$smollm2" >&2
fi
qwen2=$place/qwen2-20m
[ -e "$qwen2/model.safetensors" ] || "$python" "$here/make_model.py" "$qwen2"
# Every run prints JSON lines; the model and the round are added here.
results=$place/results.jsonl
: > "$results"
round=0
record() {  # MODEL COMMAND...
  local model=$1
  shift
  "$@" | sed "s/^{/{\"model\": \"$model\", \"round\": $round, /" >> "$results"
}
gguf() {  # STORAGE: the file, made when it is missing or the weights are newer
  local file=$place/smollm2.$1.gguf
  [ "$file" -nt "$smollm2/model.safetensors" ] || "$llama_python" "$here/make_gguf.py" "$smollm2" "$1" "$file" >&2
  printf '%s\n' "$file"
}
ours() { build/benchmarks/engine_figures "$1" "$2" --threads "$threads" --kv-cache-bytes 8589934592 "${@:3}"; }
transformers() { "$python" "$here/transformers_peer.py" "$@" --threads "$threads"; }
# The cache in F32 for weights in F32, as ours; its default, F16, for BF16.
llama() {  # MODE STORAGE ...
  local cache=f16
  [ "$2" = BF16 ] || cache=f32
  "$llama_python" "$here/llama_peer.py" "$1" "$(gguf "$2")" "$2" --cache "$cache" --threads "$threads" "${@:3}"
}

# Sequences with a prompt of their own: all with short prompts; with long ones the first 8, the others in groups
# of 8 to a prompt, so that reading prompts does not take most of the time.
distinct() { [ "$1" = 128 ] && echo 64 || echo "${DISTINCT:-8}"; }

for ((round = 1; round <= rounds; ++round)); do
  echo "round $round of $rounds" >&2
  if wanted machine || wanted llama || wanted prefix; then
    record machine build/benchmarks/machine_limits "$threads"
    record machine transformers limits
  fi
  if wanted transformers; then
    for model in smollm2 qwen2; do
      record $model ours "${!model}" batch --context 32 --tokens 128 --prompts 32
      record $model transformers batch "${!model}" --context 32 --tokens 128 --prompts 32
    done
  fi
  if wanted machine || wanted llama; then
    for context in 128 1024; do
      for storage in f32 bf16; do
        record smollm2 ours "$smollm2" decode --storage $storage --context $context --tokens "$steps" --distinct "$(distinct $context)"
      done
      wanted llama || continue
      for storage in F32 BF16; do for flash in off on; do
        record smollm2 llama decode $storage --flash $flash --context $context --tokens "$steps"
      done; done
    done
    record smollm2 ours "$smollm2" prefill --context 1024
  fi
  if wanted llama; then
    for storage in F32 BF16; do for flash in off on; do
      record smollm2 llama prefill $storage --flash $flash --context 1024
    done; done
    [ $round -gt 1 ] || record smollm2 llama batch F32 --context 32 --tokens 128 --prompts 32
  fi
  if wanted prefix; then
    record smollm2 ours "$smollm2" shared --context 1024
    record smollm2 ours "$smollm2" turn --context 1024
  fi
done
if wanted swap; then
  record smollm2 ours "$smollm2" swap --storage bf16 --context 32 --parallel 8 --repeats 200
fi
if wanted soak; then
  record qwen2 ours "$qwen2" soak --requests "$requests" --context 32 --tokens 16 --kv-cache-bytes 134217728
fi
"$python" "$here/summarise.py" "$results"
