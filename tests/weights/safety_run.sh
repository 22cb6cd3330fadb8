#!/usr/bin/env bash
# The long form of tests/weights/safety_run_test.cpp, over each carrier and each transport of MPI.
#
#   tests/weights/safety_run.sh [VERSIONS [ENGINES [CARRIER ...]]]     10000, 5, all carriers
#
# One line a case: what the engines saw, summed over them. "wrong" counts images in use that were not
# the version that they claimed; it must be 0, and the exit code says so too. The transports: shared
# memory; TCP, where ranks do not read each other's memory either; three invented nodes, each with two or three ranks (needs root: a host name of its own).
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
deps=${PHYSARUM_DEPS:-$here/.deps}
program=${PHYSARUM_SAFETY_PROGRAM:-$here/build/tests/weights/weights_safety_test}
versions=${1:-10000}
engines=${2:-5}
shift $(($# < 2 ? $# : 2))
carriers=("$@")
[ $# -gt 0 ] || carriers=(rma messages broadcast file)
buffers=2
ranks=$((buffers + 1 + engines))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# PRRTE starts its daemons by this program instead of ssh: the same machine under another name.
printf '#!/bin/sh\nname=$1\nshift\nexec unshare --uts sh -c "hostname $name; exec sh -c \\"\\$0\\"" "$*"\n' >"$work/agent"
chmod +x "$work/agent"
printf 'weaver%d slots=8\n' 1 2 3 >"$work/hosts"

options=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca osc ^ucx --mca pml ob1)
[ "$(id -u)" = 0 ] && options+=(--allow-run-as-root)
failed=0
run() { # run CARRIER TRANSPORT <mpirun options>; apart: what the program is told of its place
  local carrier=$1 transport=$2 out=$work/out code
  shift 2
  "$deps/bin/mpirun" "${options[@]}" "$@" -n "$ranks" "$program" --versions "$versions" \
    --buffers "$buffers" --carrier "$carrier" "${apart[@]}" >"$out" 2>&1
  code=$?
  sed -n "s/^safety:/carrier $carrier transport $transport exit $code:/p" "$out"
  if [ $code -ne 0 ]; then
    failed=1
    cat "$out"
  fi
}
for carrier in "${carriers[@]}"; do
  apart=()
  run "$carrier" shared_memory --mca btl self,sm,tcp
  apart=(--apart yes)
  run "$carrier" tcp --mca btl self,tcp
  apart=()
  run "$carrier" nodes --mca btl self,sm,tcp --prtemca plm_ssh_agent "$work/agent" --hostfile "$work/hosts" --map-by node
done
exit $failed
