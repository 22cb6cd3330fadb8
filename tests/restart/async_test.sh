#!/usr/bin/env bash
# Runs that generate ahead of training, killed again and again: no group is learnt from twice or lost, and no sample
# is older than it may be. one_step_async is as exact as sync.
#
#   tests/restart/async_test.sh [KILLS]     default 4 in all
. "$(dirname "$0")/lib.sh"
kills=${1:-4}
RANDOM=${PHYSARUM_TEST_SEED:-43}

whole_run 5 --mode one_step_async
killed_run one-step $((kills / 2)) 5 --mode one_step_async
same_run "$work/runs/whole" "$work/runs/one-step"

killed_run async $((kills / 2)) 5 --mode async --max-weight-staleness 2 --async-save
checks=$((checks + 1))
[ -z "$python" ] || "$python" tests/restart/compare_samples.py --async "$work/runs/async" 2 || fail "async"
finish
