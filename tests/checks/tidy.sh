#!/usr/bin/env bash
# clang-tidy over our sources.
#   tests/checks/tidy.sh [JOBS]          all of them
#   tests/checks/tidy.sh JOBS FILE...    these
# Results are kept per file content in build/tidy, so an unchanged file is not looked at twice.
set -euo pipefail
cd "$(dirname "$0")/../.."
jobs=${1:-$(nproc)}
shift || true
if [ $# -gt 0 ]; then files=("$@"); else
  mapfile -t files < <(find src -name '*.cpp' | sort)
fi
mkdir -p build/tidy
# One key for all headers: a changed header makes every file new.
export HEADERS_KEY
HEADERS_KEY=$(cat .clang-tidy $(find include src -name '*.hpp' | sort) | sha256sum | cut -c1-16)
check_one() {
  local key
  key=build/tidy/$(cat "$1" <(echo "$HEADERS_KEY $1") | sha256sum | cut -c1-32)
  [ -e "$key" ] && return 0
  clang-tidy-14 -p build --quiet --extra-arg=-Wno-unknown-warning-option "$1" 2>/dev/null && touch "$key"
}
export -f check_one
printf '%s\n' "${files[@]}" | xargs -P "$jobs" -I{} bash -c 'check_one {}'
