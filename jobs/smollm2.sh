#!/usr/bin/env bash
# A real pretrained model: installs SmolLM2-135M-Instruct (a 4-bit GGUF file), imports it, teaches it
# small arithmetic in English by GRPO, and evaluates before and after on problems it never saw.
#
#   jobs/smollm2.sh [--seed N] [--ranks N] [--flag value ...]     defaults: seed 1, 5 ranks
#
# Other flags go to the training (inputs/smollm2/grpo.toml). Leaves in runs/smollm2: hf (the imported
# model), trained (a Hugging Face directory), summary.json, and the runs before, grpo and after.
set -euo pipefail
cd "$(dirname "$0")/.."
. jobs/lib.sh
seed=1
ranks=5
flags=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seed|--ranks)
      [ $# -ge 2 ] || { echo "smollm2: $1 needs a number" >&2; exit 2; }
      case "$2" in ''|*[!0-9]*) echo "smollm2: $1 takes a number, not '$2'" >&2; exit 2 ;; esac
      if [ "$1" = --seed ]; then seed=$2; else ranks=$2; fi
      shift 2 ;;
    -h|--help) sed -n '2,8p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) flags+=("$1"); shift ;;
  esac
done

jobs/setup.sh --smollm2
say() { printf 'smollm2: %s\n' "$*"; }
say "building"
cmake --preset release >/dev/null
cmake --build --preset release --target physarum -j "$(nproc)" -- --quiet

folder=runs/smollm2
mkdir -p "$folder"
started=$(date +%s.%N)
# Made anew, so that an earlier version's files are not taken for today's.
rm -rf "$folder/hf" "$folder/trained" "$folder"/*.h5
say "1/4 importing the model and the problems"
jobs/launch -n 1 convert "${PHYSARUM_DEPS:-.deps}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$folder/hf"
for problems in train one_digit_held_out two_digit_held_out; do
  jobs/launch -n 1 convert "inputs/smollm2/$problems.jsonl" "$folder/$problems.h5" \
    --input-key messages --label-key answer --prompt-env last_number
done

# The value of one key of a run's summary.
value() { run_value "$folder/$1/summary.json" "$2"; }
evaluate() {  # RUN MODEL PROBLEMS
  jobs/launch -n 3 evaluate inputs/smollm2/evaluate.toml --run-name "smollm2/$1" --hf-checkpoint "$2" \
    --eval-prompt-data "$folder/$3.h5" --seed "$seed"
}
say "2/4 evaluating at temperature 1, before"
evaluate before "$folder/hf" one_digit_held_out
evaluate before_two_digit "$folder/hf" two_digit_held_out
say "3/4 reinforcement learning (GRPO)"
jobs/launch -n "$ranks" train inputs/smollm2/grpo.toml --seed "$seed" "${flags[@]}"
say "4/4 evaluating, after"
evaluate after "$folder/trained" one_digit_held_out
evaluate after_two_digit "$folder/trained" two_digit_held_out
seconds=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')

before=$(value before eval/last_number) after=$(value after eval/last_number)
before_two=$(value before_two_digit eval/last_number) after_two=$(value after_two_digit eval/last_number)
cat > "$folder/summary.json" <<JSON
{
  "command": "smollm2",
  "exit": 0,
  "ranks": $ranks,
  "reward_after": $after,
  "reward_after_two_digit": $after_two,
  "reward_before": $before,
  "reward_before_two_digit": $before_two,
  "seconds": $seconds,
  "seconds_training": $(value grpo seconds),
  "seed": $seed
}
JSON
say "mean reward on 200 held-out one-digit problems: $before before, $after after; two digits: $before_two before, $after_two after ($seconds s, seed $seed, $ranks ranks)"
say "written: $folder/summary.json, the trained model in $folder/trained (transformers loads it)"
