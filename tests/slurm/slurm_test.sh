#!/usr/bin/env bash
# The job scripts under a real Slurm: submit, signal before the limit, checkpoint, requeue, finish. A run in parts
# ends with the bits of a run in one piece.
#
#   tests/slurm/slurm_test.sh [CASE...]     without: all; code 77: cannot run here, and why
#
# PHYSARUM_PROGRAM, PHYSARUM_DEPS, PHYSARUM_MPIRUN: as for jobs/launch. PHYSARUM_KEEP=1 leaves the folder.
. "$(dirname "$0")/../app/lib.sh"
. "$root/tests/slurm/cluster.sh"
missing=$(cluster_needs)
[ -z "$missing" ] || { echo "skipped: $missing"; exit 77; }
export PHYSARUM_PROGRAM=${PHYSARUM_PROGRAM:-$root/build/bin/physarum} PHYSARUM_HOME=$root
clean_up() {
  stop_cluster
  if [ -n "${PHYSARUM_KEEP:-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
# Where mpirun leaves the sockets of jobs that were killed.
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# A run in one piece takes some seconds; its signal comes after ten steps.
steps=150
# For what comes in seconds: only something that hangs lets it pass.
patience_s=300
arguments=(--hf-checkpoint "$root/inputs/model-small" --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 4
  --n-samples-per-prompt 4 --global-batch-size 16 --rollout-max-response-len 4 --lr 1e-3 --lr-decay-style constant
  --env-held-out 20 --entropy-coef 0.01 --log-level warning)
groups=(--buffer-ranks 1 --trainer-ranks 2 --rollout-ranks 2)

# submit SCRIPT [sbatch option...] -- ARGUMENT...: prints the job's number.
submit() {
  local -a options=()
  local script=$1
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  (cd "$work" && sbatch --parsable "${options[@]}" "$script" "$@")
}
train_on_two_nodes() { # RUN [sbatch option...] -- ARGUMENT...
  local run=$1
  shift
  submit "$root/jobs/slurm/train.sbatch" --nodes=2 --ntasks-per-node=3 --ntasks=5 --mem-per-cpu=200M "$@" \
    "${arguments[@]}" "${groups[@]}" --run-name "$run"
}
field() { scontrol show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; } # JOB NAME
# A requeued job is held for 120 s, since nodes refuse it in the second in which they ended it. Here 4 s will do.
start_now() {
  local job start
  for job in $(scontrol show job "$1" 2>/dev/null | sed -n 's/^JobId=\([0-9]*\).*/\1/p'); do
    [ "$(field "$job" Reason)" = BeginTime ] || continue
    start=$(date -d "$(field "$job" EligibleTime)" +%s)
    [ $((start - $(date +%s))) -gt 116 ] || scontrol update JobId="$job" StartTime=now TimeLimit=10
  done
}
ended() { # JOB: however; a requeue on the way does not hold it up
  start_now "$1"
  [ -z "$limit_job" ] || start_now "$limit_job"
  [ -z "$(squeue -h -j "$1" 2>&1)" ]
}
restarted() { [ "$(field "$1" Restarts)" -ge "${2:-1}" ]; } # JOB [TIMES]
made_steps() { [ "$(grep -c train/loss "$work/runs/$1/metrics.jsonl" 2>/dev/null)" -ge "$2" ] 2>/dev/null; } # RUN STEPS
# RUN JOB. Open MPI 5.0.11 may fall over in MPI_Init under srun (docs/slurm.md); then the next part gets there.
under_way() {
  start_now "$2"
  made_steps "$1" 10
}
check() { # WHAT COMMAND...
  local what=$1 said
  shift
  checks=$((checks + 1))
  said=$("$@" 2>&1) || fail "$what: $said"
}
is() { [ "$1" = "$2" ] || { echo "'$1' instead of '$2'"; return 1; }; }

# finished RUN JOB STEPS: the job is done, in more than one part, and so is the run.
finished() {
  local summary=$work/runs/$1/summary.json
  wait_until "$patience_s" "$1: end of job $2" ended "$2" || { fail "$1: job $2 is $(field "$2" JobState)"; return 1; }
  check "$1: state" is "$(field "$2" JobState)" COMPLETED
  check "$1: parts" restarted "$2"
  check "$1: exit" is "$(key "$summary" exit)" 0
  check "$1: steps" is "$(key "$summary" steps)" "$3"
  check "$1: steps in its metrics" is "$(grep -c train/loss "$work/runs/$1/metrics.jsonl")" "$3"
}
same_weights() { check "$1: weights" is "$(key "$work/runs/$1/summary.json" final_weights_checksum)" "$reference"; }

# interrupt_and_finish RUN JOB: after some steps the batch shell gets USR1, as --signal=B:USR1@S sends it.
interrupt_and_finish() {
  local before
  wait_until "$patience_s" "$1: first steps" under_way "$1" "$2" || { fail "$1: no steps"; return 1; }
  before=$(field "$2" Restarts)
  scancel --batch --signal=USR1 "$2"
  wait_until "$patience_s" "$1: requeue of job $2" restarted "$2" $((before + 1)) || { fail "$1: not requeued"; return 1; }
  check "$1: verdict of the first part" is "$(key "$work/runs/$1/summary.json" exit)" 75
  finished "$1" "$2" "$steps" && same_weights "$1"
}

case_reference() {
  launch 5 train "${arguments[@]}" "${groups[@]}" --num-rollout "$steps" --run-name reference >"$work/reference.out" 2>&1 ||
    fail "reference: $(tail -n 3 "$work/reference.out")"
  reference=$(key "$work/runs/reference/summary.json" final_weights_checksum)
}

# The real limit. It goes on beside the other cases: Slurm looks at limits every 30 s and may send the signal 30 s
# early, so that it comes 5 to 35 s after the start. The run has no end before that, on a machine of any speed.
limit_job=
begin_time_limit() {
  limit_job=$(train_on_two_nodes limit --time=1 --signal=B:USR1@25 -- --num-rollout 1000000)
}
# RUN JOB STEPS
goes_on() {
  start_now "$2"
  made_steps "$1" $(($3 + 1))
}
case_time_limit() {
  local made
  wait_until "$patience_s" "limit: requeue" restarted "$limit_job" || { fail "limit: job $limit_job not requeued"; return 1; }
  made=$(tr -dc 0-9 <"$work/runs/limit/checkpoints/latest")
  wait_until "$patience_s" "limit: a step of the second part" goes_on limit "$limit_job" "$made" || fail "limit: no step after $made"
  check "limit: restarts" is "$(field "$limit_job" Restarts)" 1
  check "limit: how the first part ended" grep -q '^job: part 1 ended with code 75' "$work/slurm-$limit_job.out"
  check "limit: output of the ranks" test -e "$work/runs/slurm-$limit_job/part-1/rank-4.log"
  scancel "$limit_job"
  limit_job=
}

# What `physarum check --slurm` prints, by mpirun.
case_printed() {
  local -a asked=("${arguments[@]}" "${groups[@]}" --num-rollout "$steps" --run-name printed --ranks 5)
  "$PHYSARUM_PROGRAM" check "${asked[@]}" --slurm >"$work/printed.sbatch" || { fail "check --slurm"; return 1; }
  interrupt_and_finish printed "$(submit "$work/printed.sbatch" --)"
  "$PHYSARUM_PROGRAM" check "${asked[@]}" --slurm-components >"$work/components.sbatch" || fail "check --slurm-components"
  check "printed: Slurm takes the components" sbatch --test-only "$work/components.sbatch"
}
case_srun() {
  local job
  job=$(PHYSARUM_LAUNCHER=srun train_on_two_nodes srun -- --num-rollout "$steps")
  interrupt_and_finish srun "$job"
}

case_hetjob() { # each component needs more than half of a node's memory: three nodes
  local job
  sed 's/--mem-per-cpu=[0-9]*G/--mem=9000M/' "$root/jobs/slurm/train_hetjob.sbatch" >"$work/hetjob.sbatch"
  job=$(submit "$work/hetjob.sbatch" -- "${arguments[@]}" --num-rollout "$steps" --run-name hetjob)
  interrupt_and_finish hetjob "$job"
  check "hetjob: hosts of the ranks" is "$(tr '\n' ' ' <"$work/runs/slurm-$job/part-0/hosts")" "node1 node2 node2 node3 node3 "
}

case_scaling() {
  local job table
  job=$(PHYSARUM_SCALING="4 5" submit "$root/jobs/slurm/scaling.sbatch" --array=0-1 --nodes=2 --ntasks-per-node=4 \
    --mem-per-cpu=200M -- "${arguments[@]}" --trainer-ranks 2 --num-rollout 20)
  table=$work/runs/scaling-$job/table.tsv
  wait_until "$patience_s" "scaling: a table of two rows" grep -qs '^5' "$table" || { fail "scaling: $(cat "$table" 2>&1)"; return 1; }
  wait_until "$patience_s" "scaling: end" ended "$job"
  check "scaling: rows" is "$(cut -f 1 "$table" | tr '\n' ' ')" "ranks 4 5 "
  check "scaling: nodes, the small one gave one back" is "$(cut -f 2 "$table" | tr '\n' ' ')" "nodes 1 2 "
  check "scaling: steps" is "$(cut -f 4 "$table" | tail -n +2 | sort -u)" 20
  check "scaling: the same weights" is "$(cut -f 9 "$table" | tail -n +2 | sort -u | wc -l)" 1
  check "scaling: speeds are numbers" grep -qE '^5.*[0-9]\.[0-9]*	[0-9]+\.[0-9]	[0-9.]+	' "$table"
}

# A rank dies: the next part goes on from the last checkpoint.
case_crash() {
  local job pid
  job=$(train_on_two_nodes crash -- --num-rollout "$steps" --save-interval 10)
  wait_until "$patience_s" "crash: first checkpoint" test -e "$work/runs/crash/checkpoints/latest" || { fail "crash: no checkpoint"; return 1; }
  for pid in $(pgrep -f -- "--runs-dir $work/runs .*--run-name crash"); do
    [ "$(readlink "/proc/$pid/exe")" != "$(readlink -f "$PHYSARUM_PROGRAM")" ] || { kill -KILL "$pid"; break; }
  done
  finished crash "$job" "$steps" && same_weights crash
}

# What does not get better by repeating is not repeated.
case_hopeless() {
  local job refused
  printf '#!/bin/sh\n[ "$1" = train ] && exit 3\nexec "%s" "$@"\n' "$PHYSARUM_PROGRAM" >"$work/failing"
  chmod +x "$work/failing"
  job=$(PHYSARUM_PROGRAM=$work/failing train_on_two_nodes hopeless -- --num-rollout "$steps")
  refused=$(train_on_two_nodes refused -- --num-rollout "$steps" --no-such-flag)
  wait_until "$patience_s" "hopeless: end" ended "$job"
  wait_until "$patience_s" "refused: end" ended "$refused"
  check "hopeless: state" is "$(field "$job" JobState)" FAILED
  check "hopeless: restarts" is "$(field "$job" Restarts)" 1
  check "refused: state" is "$(field "$refused" JobState) $(field "$refused" ExitCode)" "FAILED 2:0"
  check "refused: restarts" is "$(field "$refused" Restarts)" 0
}

# Ranks that are still there after the run, so that mpirun is, too.
case_lingering() {
  local job
  printf '#!/bin/sh\n[ "$1" = train ] || exec "%s" "$@"\n"%s" "$@"\nsleep 1000\n' "$PHYSARUM_PROGRAM" "$PHYSARUM_PROGRAM" \
    >"$work/lingering"
  chmod +x "$work/lingering"
  job=$(PHYSARUM_END_PATIENCE=3 PHYSARUM_PROGRAM=$work/lingering train_on_two_nodes lingering -- --num-rollout 10)
  wait_until "$patience_s" "lingering: end" ended "$job"
  check "lingering: state" is "$(field "$job" JobState)" COMPLETED
  check "lingering: what the script says" grep -q '^job: the run has ended, its launcher has not' "$work/slurm-$job.out"
}

case_cancel() {
  local job
  job=$(train_on_two_nodes cancel -- --num-rollout "$steps")
  wait_until "$patience_s" "cancel: first steps" made_steps cancel 2 || { fail "cancel: no steps"; return 1; }
  scancel "$job"
  wait_until "$patience_s" "cancel: end" ended "$job"
  check "cancel: state" is "$(field "$job" JobState) $(field "$job" Restarts)" "CANCELLED 0"
  # The shell of the script may still be writing when the job is no longer listed.
  check "cancel: what the script says" wait_until 60 "the line" \
    grep -q '^job: not requeued: the job is being ended' "$work/slurm-$job.out"
}

# After a failed case: what is left of its jobs says who waits for whom.
show_what_waits() {
  ps axww -o pid,ppid,stat,etimes,wchan:24,args | grep -E "run_job|mpirun|prte|srun|launch|physarum" | grep -v "grep\|slurm_test" | cut -c 1-160
  tail -n 2 "$work"/runs/*/logs/*.log
}
# A job that does not end would hold its nodes against the cases behind it.
end_left_jobs() {
  local job
  for job in $(squeue -h -o %A | sort -u); do
    [ "$job" = "$limit_job" ] || scancel "$job"
  done
}

cases=(printed srun time_limit hetjob scaling crash hopeless lingering cancel)
[ $# -eq 0 ] || cases=("$@")
start_cluster "$work/cluster" 3 || { tail -n 5 "$work"/cluster/*.log "$work"/cluster/*.out; exit 1; }
case_reference
[[ " ${cases[*]} " != *" time_limit "* ]] || begin_time_limit
for case in "${cases[@]}"; do
  started=$SECONDS
  failed_before=$failures
  "case_$case"
  echo "$case: $((SECONDS - started)) s, $failures failures so far"
  [ "$failures" = "$failed_before" ] || show_what_waits
  end_left_jobs
done
[ "$failures" = 0 ] || tail -n 30 "$work"/slurm-*.out
finish
