#!/usr/bin/env bash
# A run in sync mode that is killed again and again, anywhere, ends with the bits of a run that was not: weights,
# optimiser, metrics, and the samples that it learnt from.
#
#   tests/restart/sync_test.sh [KILLS]     default 8, and 2 with weights as files; 50 takes some minutes
. "$(dirname "$0")/lib.sh"
kills=${1:-8}
RANDOM=${PHYSARUM_TEST_SEED:-42}

whole_run 4
for save in --no-async-save --async-save; do
  killed_run "killed$save" $((kills / 2)) 4 $save
  same_run "$work/runs/whole" "$work/runs/killed$save"
done
# Weights that travel as files: what is there from before a kill is of no use to anybody.
killed_run killed-file 2 4 --weight-carrier file --weight-directory "$work/weights"
same_run "$work/runs/whole" "$work/runs/killed-file"
! grep "is taken from the buffer ranks" "$work/killed.out" || fail "an engine did not read files"
! grep -E 'damaged|error:' "$work/killed.out" || fail "see above"
finish
