#!/usr/bin/env bash
# Checks publication.pml with Spin: all claims hold, and each rule that is left out is missed.
#
#   check.sh           what ctest runs; about a minute and 900 MB
#   check.sh --long    more versions, elements and orders of reading besides: many minutes, many gigabytes
set -euo pipefail
model=$(cd "$(dirname "$0")" && pwd)/publication.pml
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

# build NAME DEFINES... -- COMPILER-DEFINES...: makes the checker ./NAME.
build() {
  local name=$1 defines=()
  shift
  while [ "$1" != -- ]; do defines+=("$1"); shift; done
  shift
  spin -a "${defines[@]}" "$model" >spin.txt 2>&1 && ! grep -q "Error" spin.txt ||
    { cat spin.txt; exit 1; }
  cc -O2 -w -DCOLLAPSE -DVECTORSZ=2048 "$@" -o "$name" pan.c
}

errors() { sed -n 's/.*errors: \([0-9]*\).*/\1/p' report.txt; }
states() { sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' report.txt; }
# The search must have ended and must have gone through all of it.
complete() { ! grep -qE "Search not completed|max search depth too small|out of memory" report.txt; }

holds() {
  local what=$1; shift
  "$@" -m4000000 >report.txt 2>&1 || true
  if [ "$(errors)" != 0 ] || ! complete; then
    echo "FAILED: $what"; grep -E "pan:|errors|Warning|error" report.txt; exit 1
  fi
  echo "holds: $what ($(states) states)"
}

fails() {
  local what=$1; shift
  "$@" -m4000000 >report.txt 2>&1 || true
  case "$(errors)" in
    [1-9]*) echo "missed, as it must be: $what ($(grep -m1 -oE 'assertion violated|acceptance cycle|invalid end state' report.txt))" ;;
    *) echo "FAILED: the checker does not miss: $what"; cat report.txt; exit 1 ;;
  esac
}

safety() { build checker "$@" -- -DSAFETY -DNOCLAIM; }
liveness() { build checker "$@" -- -DNFAIR=3; }

safety -DN=3 -DC=2
holds "no mixed image: 3 versions, 2 elements" ./checker
safety -DN=4 -DC=1
holds "no mixed image: 4 versions, places of the ring are used again" ./checker
safety -DB=2 -DN=2 -DC=1
holds "no mixed image: 2 buffer ranks" ./checker
liveness -DN=3 -DC=1
holds "an engine is served in the end" ./checker -a -f -N engines_are_served
liveness -DN=3 -DC=1 -DSTOPS
holds "the publisher ends although engines may stop" ./checker -a -f -N writers_never_wait

for fault in 1 2 3 4 5 6 7 8; do
  safety -DN=4 -DC=1 -DFAULT=$fault
  fails "rule $fault" ./checker
done
liveness -DN=3 -DC=1 -DSTOPS -DFAULT=9
fails "rule 9" ./checker -a -f -N writers_never_wait

if [ "${1:-}" = --long ]; then
  safety -DN=4 -DC=2
  holds "4 versions, 2 elements" ./checker
  safety -DN=3 -DC=2 -DALL_CHANGES
  holds "3 versions, every set of changes" ./checker
  safety -DN=3 -DC=2 -DWORD_BY_WORD
  holds "3 versions, two looks word by word" ./checker
  safety -DN=3 -DC=2 -DWORD_BY_WORD -DDOWNWARDS
  holds "3 versions, two looks word by word, the other way round" ./checker
  safety -DN=4 -DC=1 -DWORD_BY_WORD
  holds "4 versions, two looks word by word" ./checker
  safety -DN=5 -DC=1
  holds "5 versions" ./checker
  safety -DB=2 -DN=3 -DC=1
  holds "2 buffer ranks, 3 versions" ./checker
fi
