#!/usr/bin/env bash
# Installs what is missing, builds, checks format and rooms, runs all tests.
#
#   tests/run.sh             everything; the last lines are those of ctest
#   tests/run.sh --quick     without clang-tidy and the unit tests under AddressSanitizer and UBSan
#   tests/run.sh -R REGEX    more arguments go to ctest
#
# Not as root it works when everything is installed; otherwise it says what is missing (code 2).
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'run: %s\n' "$*"; }
jobs=${PHYSARUM_JOBS:-$(nproc)}
started=$SECONDS
quick=0
if [ "${1:-}" = --quick ]; then quick=1; shift; fi

jobs/setup.sh --dev

say "room check"
python3 tests/checks/rooms.py
python3 tests/checks/rooms.py --table | diff -u docs/rooms.md - ||
  { say "docs/rooms.md is out of date: tests/checks/rooms.py --table > docs/rooms.md"; exit 1; }
say "format check"
find src include tests benchmarks -name '*.[ch]pp' | xargs clang-format-14 --dry-run --Werror

say "build (release)"
cmake --preset release >/dev/null
cmake --build --preset release -j "$jobs" -- --quiet

if [ "$quick" = 0 ]; then
  say "clang-tidy; $((SECONDS - started)) s so far"
  tests/checks/tidy.py --jobs "$jobs"
  say "build and unit tests with AddressSanitizer and UndefinedBehaviorSanitizer; $((SECONDS - started)) s so far"
  cmake --preset asan >/dev/null
  cmake --build --preset asan -j "$jobs" --target asan_tests -- --quiet
  ctest --test-dir build-asan -L asan -j "$jobs" --output-on-failure --no-tests=error
fi

say "tests (${jobs} cores); $((SECONDS - started)) s so far"
ctest --test-dir build -j "$jobs" --output-on-failure --no-tests=error "$@"
say "done after $((SECONDS - started)) s"
