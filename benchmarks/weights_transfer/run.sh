#!/usr/bin/env bash
# Weights from a trainer to an engine: two ranks, an image of 269 MB (SmolLM2-135M in bf16), links simulated by the clock.
#   benchmarks/run.sh weights_transfer [PART...]     parts: pull delta rates; all if none is named
# pull:  a full pull by each carrier against a bare loop of MPI_Get, over shared memory and over TCP
# delta: 1 % changed, from the end of the optimiser's step to the verified image, against the full image by the same way and MPI_Bcast;
#        and what it costs the optimiser to note its changes
# rates: deltas and full images at links of 1 to 400 Gb/s and 0.1 to 50 % changed, and what the default chooses
# ROUNDS: 5, in turns. MB: 269.
set -euo pipefail
cd "$(dirname "$0")/../.."
parts=" ${*:-pull delta rates} "
export ROUNDS=${ROUNDS:-5}
megabytes=${MB:-269}
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target transfer_figures noting_figures -- --quiet

# jobs/launch chooses the transports itself.
over() { # BTLS ARGUMENT...: on two ranks
  local btls=$1 root=()
  shift
  [ "$(id -u)" != 0 ] || root=(--allow-run-as-root)
  "${PHYSARUM_MPIRUN:-${PHYSARUM_DEPS:-.deps}/bin/mpirun}" --oversubscribe --bind-to none "${root[@]}" --mca mpi_yield_when_idle 1 \
    --mca osc ^ucx --mca pml ob1 --mca btl "$btls" -x ROUNDS -n 2 build/benchmarks/transfer_figures "$@"
}
value() { awk -v name="$1" '$1 == name { print $2 }' <<<"$2"; }

if [[ $parts == *" pull "* ]]; then
  for transport in sm tcp; do
    place=
    [ $transport = sm ] || place=apart
    figures=$(over "self,$transport" pull "$megabytes" $place)
    echo "$transport: bare MPI_Get $(value bare_gb_per_s "$figures") GB/s; fetching alone: rma $(value rma_fetch_share "$figures"), messages $(value messages_fetch_share "$figures") of it"
    echo "figure pull_rma_of_bare_$transport $(value rma_pull_share "$figures") times goal >= 0.88"
    echo "figure pull_messages_of_bare_$transport $(value messages_pull_share "$figures") times goal >= 0.70"
  done
fi
if [[ $parts == *" delta "* ]]; then
  for lr in 1e-6 1e-5; do
    figures=$(build/benchmarks/noting_figures "$lr")
    echo "$(value changed_percent "$figures") % changed, a step of AdamW with rounding: $(value unnoted_ms "$figures") ms, with noting $(value noted_ms "$figures") (in two passes, without noting, $(value two_passes_ms "$figures"))"
    echo "figure noting_$lr $(awk -v noted="$(value noted_ms "$figures")" -v unnoted="$(value unnoted_ms "$figures")" 'BEGIN { printf "%.3f", noted / unnoted }') times goal <= 1.10"
  done
  for link in "0 2" "10 15" "1 50"; do
    read -r speed goal <<<"$link"
    figures=$(over self,sm delta "$speed" "$megabytes")
    for way in delta_rma delta_messages full_rma full_messages; do
      echo "$speed Gb/s, $way: $(value ${way}_ms "$figures") ms ($(value ${way}_wire_mb "$figures") MB; encode and digests $(value ${way}_encode_ms "$figures"), publish $(value ${way}_publish_ms "$figures"), pull $(value ${way}_pull_ms "$figures"))"
    done
    echo "$speed Gb/s, MPI_Bcast: $(value broadcast_ms "$figures") ms"
    echo "figure delta_against_full_$speed $(value faster_than_full "$figures") times goal >= $goal"
    echo "figure delta_against_broadcast_$speed $(value faster_than_broadcast "$figures") times goal >= $goal"
  done
fi
if [[ $parts == *" rates "* ]]; then
  echo "Gb/s, % changed, MB of the delta, ms: delta, full, default (what it chose)"
  for speed in 1 10 100 400; do over self,sm rates "$speed" "$megabytes"; done | tee runs/benchmarks/weights_transfer.rates
  # What the default loses against the better of the two; where they are alike either is right.
  awk '{ best = $5 < $6 ? $5 : $6; loss = $7 / best; if (loss > worst) worst = loss; right += loss <= 1.15; cells++ }
    END { printf "figure default_right_cells %d cells goal >= %d\nfigure default_worst %.2f times goal <= 1.15\n", right, cells, worst }' \
    runs/benchmarks/weights_transfer.rates
  rm runs/benchmarks/weights_transfer.rates
fi
