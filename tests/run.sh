#!/usr/bin/env bash
# Installs what is missing, builds, checks format and rooms, runs all tests.
#
#   tests/run.sh             everything; the last lines are those of ctest
#   tests/run.sh -R REGEX    more arguments go to ctest
#
# Not as root it works when everything is installed; otherwise it says what is missing (code 2).
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'run: %s\n' "$*"; }
jobs=${PHYSARUM_JOBS:-$(nproc)}
started=$SECONDS

jobs/setup.sh --dev

say "room check"
python3 tests/checks/rooms.py
python3 tests/checks/rooms.py --table | diff -u docs/rooms.md - ||
  { say "docs/rooms.md is out of date: tests/checks/rooms.py --table > docs/rooms.md"; exit 1; }
say "format check"
git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 --dry-run --Werror

say "build (release)"
cmake --preset release >/dev/null
cmake --build --preset release -j "$jobs" -- --quiet

say "clang-tidy on the rooms without LibTorch headers"
tests/checks/tidy.sh "$jobs"

say "build (asan: unit tests of the rooms without LibTorch)"
cmake --preset asan >/dev/null
cmake --build --preset asan -j "$jobs" --target asan_tests -- --quiet

say "tests (${jobs} cores); $((SECONDS - started)) s so far"
ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 ctest --test-dir build-asan -L asan -j "$jobs" --output-on-failure --no-tests=error | tail -n 12
ctest --test-dir build -j "$jobs" --output-on-failure --no-tests=error "$@"
say "done after $((SECONDS - started)) s"
