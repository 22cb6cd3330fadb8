#!/usr/bin/env bash
# Weight deltas: how small, beside other codings, and how fast on one core, after real steps of Adam.
#   benchmarks/run.sh weights [MODEL]       MODEL: a Hugging Face directory, for example SmolLM2-135M; a random model of
#                                           25 million parameters is always looked at.
# RATES: "1e-6 1e-7 1e-5 1e-4" (the first is the goal's), STEPS: 40. Images are kept in runs/benchmarks/weight-images.
set -euo pipefail
cd "$(dirname "$0")/../.."
read -ra rates <<<"${RATES:-1e-6 1e-7 1e-5 1e-4}"
steps=${STEPS:-40}
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target delta_figures -- --quiet
python=$(benchmarks/grpo_vs_trl/make_environment.sh)

look() {  # look NAME MODEL
  local images=runs/benchmarks/weight-images/$1 rate missing=()
  for rate in "${rates[@]}"; do [ -e "$images/$rate.after" ] || missing+=("$rate"); done
  [ ${#missing[@]} = 0 ] || "$python" benchmarks/weights/adam_steps.py "$2" "$images" --steps "$steps" "${missing[@]}" >&2
  for rate in "${rates[@]}"; do
    build/benchmarks/delta_figures "$images/$rate.before" "$images/$rate.after" |
      awk -v name="$1" -v rate="$rate" -v goal="${rates[0]}" '
        { value[$1] = $2 }
        END {
          printf "%s, lr %s: %.3f %% changed; smaller than the image: %.0f times (int32 and value %.0f, xor and zstd %.0f, bitmask %.0f); compare and encode %.2f GB/s, apply %.2f GB/s, reading both images alone %.2f GB/s\n",
            name, rate, 100 * value["density"], value["smaller"], value["smaller_position_and_value"],
            value["smaller_xor_zstd"], value["smaller_bitmask"], value["encode_gb_per_s"], value["apply_gb_per_s"], value["read_both_gb_per_s"]
          if (rate != goal) exit
          printf "figure smaller_%s %s times goal >= 120\n", name, value["smaller"]
          printf "figure encode_%s %s GB/s goal >= 4\n", name, value["encode_gb_per_s"]
          printf "figure encode_share_of_reading_%s %.3f times goal >= 0.9\n", name, value["encode_gb_per_s"] / value["read_both_gb_per_s"]
          printf "figure apply_%s %s GB/s goal >= 4\n", name, value["apply_gb_per_s"]
        }'
  done
}
look 25m random-25m
[ $# = 0 ] || look "$(basename "$1")" "$1"
