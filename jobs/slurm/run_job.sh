# What all Slurm scripts of Physarum share. A job script sources it and calls
#
#   train_job CONFIG.toml [--flag value ...]     one part of a training run, and the next one by requeue
#
# Settings, all optional:
#   PHYSARUM_LAUNCHER      mpirun (default) or srun
#   PHYSARUM_SRUN_MPI      srun's --mpi (default pmix)
#   PHYSARUM_PROGRAM, PHYSARUM_MPIRUN, PHYSARUM_DEPS, PHYSARUM_MPIRUN_OPTIONS   as for jobs/launch
#   PHYSARUM_END_PATIENCE  seconds that the launcher may take to end after the run (default 60)
#   PHYSARUM_MAX_RESTARTS  requeues after which the job ends whatever it reached (default 100)
#
# A part ends with the program's exit code. 0: done. 2: the input is wrong. 75 (stopped by a signal, with a
# checkpoint) and all else (a rank failed): requeued, and the next part goes on from the last checkpoint.
# The second part in a row that leaves no newer checkpoint ends the job: repeating would not help.
set -uo pipefail

say() { printf 'job: %s\n' "$*"; }
die() { printf 'job: %s\n' "$*" >&2; exit 2; }

[ -n "${SLURM_JOB_ID:-}" ] || die "not in a Slurm job; submit this script with sbatch"
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
deps=${PHYSARUM_DEPS:-$home/.deps}
program=${PHYSARUM_PROGRAM:-$home/build/bin/physarum}
launcher=${PHYSARUM_LAUNCHER:-mpirun}
components=${SLURM_HET_SIZE:-1}
case "$launcher" in mpirun|srun) ;; *) die "PHYSARUM_LAUNCHER is mpirun or srun, not '$launcher'" ;; esac
# Slurm's PMIx plugin takes a heterogeneous step for what it is only if the components' nodes are in the order of
# their names, and its srun may hang at the end (22.05). mpirun starts its daemons by srun, one node at a time.
[ "$launcher" = mpirun ] || [ "$components" = 1 ] || die "a heterogeneous job needs PHYSARUM_LAUNCHER=mpirun"
[ -x "$program" ] || die "no program at $program; build it (docs/building.md), or set PHYSARUM_PROGRAM"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}

# of_component NAME G: the value of SLURM_NAME for component G of the job.
of_component() {
  local name=SLURM_$1
  [ "$components" = 1 ] || name+=_HET_GROUP_$2
  printf '%s' "${!name:-}"
}

# Sets ranks, and for a heterogeneous job layout: the flags that say which component is what.
read_allocation() {
  local g
  local -a sizes=()
  layout=() ranks=0
  for ((g = 0; g < components; g++)); do
    sizes+=("$(of_component NTASKS "$g")")
    [ -n "${sizes[g]}" ] || die "the job has no number of tasks; give --ntasks, or --nodes and --ntasks-per-node"
    ranks=$((ranks + sizes[g]))
  done
  case "$components" in
    1) ;;
    # The world's ranks are buffer, trainer, rollout in this order, and so are the components.
    3) layout=(--buffer-ranks "${sizes[0]}" --trainer-ranks "${sizes[1]}" --rollout-ranks "${sizes[2]}") ;;
    *) die "a heterogeneous job has 3 components (buffer, trainer, rollout), not $components" ;;
  esac
}

# setting NAME: a key of the resolved configuration.
setting() { sed -n 's/^'"$1"' = "\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' <<<"$resolved"; }

# read_run ARGUMENT...: asks the program what these arguments mean, before any rank is started for them.
# Sets resolved, runs_dir, run_dir, checkpoints.
read_run() {
  local code
  resolved=$("$program" check "$@" --ranks "$ranks")
  code=$?
  [ "$code" = 0 ] || { say "the configuration was refused (code $code)" >&2; exit "$code"; }
  runs_dir=$(setting runs_dir)
  run_dir=$runs_dir/$(setting run_name)
  checkpoints=$(setting save)
  checkpoints=${checkpoints//"{run}"/$run_dir}
}

# summary KEY: a value of the run's summary, - without it.
summary() {
  local value
  value=$(sed -n 's|^ *"'"$1"'": "\{0,1\}\([^"]*[^",]\)"\{0,1\},\{0,1\}$|\1|p' "$run_dir/summary.json")
  echo "${value:--}"
}

# The step of the newest checkpoint; 0 if there is none.
last_step() {
  local line=
  [ ! -r "$checkpoints/latest" ] || read -r line <"$checkpoints/latest"
  [[ $line =~ ^step-([0-9]+)$ ]] && echo $((10#${BASH_REMATCH[1]})) || echo 0
}

# One line per rank with its host, in the order of the world's ranks. Slurm writes places as 2(x3),1.
rank_hosts() {
  local g host item count
  local -a hosts places
  for ((g = 0; g < components; g++)); do
    mapfile -t hosts < <(scontrol show hostnames "$(of_component JOB_NODELIST "$g")")
    places=()
    for item in $(of_component TASKS_PER_NODE "$g" | tr , ' '); do
      count=1
      [[ $item =~ ^([0-9]+)\(x([0-9]+)\)$ ]] && item=${BASH_REMATCH[1]} count=${BASH_REMATCH[2]}
      for ((; count > 0; count--)); do places+=("$item"); done
    done
    for host in "${!hosts[@]}"; do
      for ((count = places[host]; count > 0; count--)); do echo "${hosts[host]}"; done
    done
  done
}

# mpirun sees the first component alone. Here it is told all hosts, and starts its daemons there by srun.
prepare_mpirun() {
  [ "$components" -gt 1 ] || return 0
  rank_hosts >"$logs/hosts"
  export PRTE_MCA_ras=^slurm PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_no_tree_spawn=1
  export PRTE_MCA_plm_ssh_agent=$home/jobs/slurm/srun_agent
  export PHYSARUM_MPIRUN_OPTIONS="${PHYSARUM_MPIRUN_OPTIONS:-} --leave-session-attached --map-by seq --hostfile $logs/hosts"
}

# start_ranks ARGUMENT...: starts the program in the background; sets child.
start_ranks() {
  local -a command
  touch "$logs/started"
  if [ "$launcher" = mpirun ]; then
    prepare_mpirun
    command=("$home/jobs/launch" -n "$ranks" --program)
  else
    # What jobs/launch gives the wheel's mpirun on its command line.
    if [ "${PHYSARUM_MPIRUN:-$deps/bin/mpirun}" -ef "$deps/bin/mpirun" ]; then
      export OMPI_MCA_osc=^ucx OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm,tcp
    fi
    export OMPI_MCA_mpi_yield_when_idle=1
    # A rank that died must not leave the others waiting; ranks that end together need no hurry.
    command=(srun --mpi="${PHYSARUM_SRUN_MPI:-pmix}" --kill-on-bad-exit=0 --wait=60 --ntasks="$ranks")
    # srun does not take this from the job by itself.
    [ -z "${SLURM_CPUS_PER_TASK:-}" ] || command+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  fi
  "${command[@]}" "$home/jobs/slurm/rank_log" "$logs" "$program" "$@" &
  child=$!
}

# The run is over once its summary is written. A launcher that is still there long after that (its daemons on other
# nodes may lose one another at the end) must not keep the job: Slurm ends it with the job.
give_up_on_launcher() {
  until [ "$run_dir/summary.json" -nt "$logs/started" ]; do sleep 2; done
  sleep "${PHYSARUM_END_PATIENCE:-60}"
  kill -ALRM "$$"
}

# await_ranks: waits for child, whatever signals come in between; returns the program's verdict.
await_ranks() {
  local status watch code=3
  given_up=
  trap 'given_up=1' ALRM
  give_up_on_launcher &
  watch=$!
  while true; do
    interrupted=
    wait "$child"
    status=$?
    [ "$status" = 127 ] || code=$status # 127: the wait before this one had got it already
    [ -n "$interrupted" ] && [ -z "$given_up" ] || break
  done
  kill "$watch" 2>/dev/null
  child=
  [ -z "$given_up" ] || say "the run has ended, its launcher has not; the job goes on without it"
  case "$code" in 0|2|75) return "$code" ;; esac
  # The launcher may have come to grief after the run: what the run has written of itself counts.
  if [ "$run_dir/summary.json" -nt "$logs/started" ]; then code=$(summary exit); fi
  case "$code" in 0|2|75) return "$code" ;; *) return 3 ;; esac
}

# Slurm signals the batch shell alone; mpirun and srun hand USR1 on to every rank.
child=
asked=
forward() {
  interrupted=1
  asked=1
  say "signal received; the ranks write a checkpoint and end"
  [ -z "$child" ] || kill -USR1 "$child" 2>/dev/null
}

# A job that was cancelled, or is being ended for another reason, is not to come back.
still_running() { [ "$(squeue -h -j "$SLURM_JOB_ID" -o %T 2>/dev/null | head -n 1)" = RUNNING ]; }

# next_part CODE BEFORE: whether and how the run goes on after a part that began at step BEFORE.
next_part() {
  local code=$1 before=$2 after stalled=0 limit=${PHYSARUM_MAX_RESTARTS:-100}
  after=$(last_step)
  say "part $((part + 1)) ended with code $code; checkpoint of step $after in $checkpoints"
  [ "$after" -gt "$before" ] || stalled=$(($(cat "$job_dir/stalled" 2>/dev/null || echo 0) + 1))
  echo "$stalled" >"$job_dir/stalled"
  if [ "$stalled" -ge 2 ]; then
    say "not requeued: two parts in a row left no newer checkpoint; see $logs and $run_dir/logs"
  elif [ "$part" -ge "$limit" ]; then
    say "not requeued: it was $part times (PHYSARUM_MAX_RESTARTS); the same sbatch command goes on from step $after"
  elif ! still_running; then
    say "not requeued: the job is being ended; the same sbatch command goes on from step $after"
  elif
    say "requeued, unless Slurm objects"
    scontrol requeue "$SLURM_JOB_ID"
  then
    # Slurm ends this shell. An end of our own would be the job's, if it came first.
    trap - USR1 TERM
    sleep 60
  else
    say "Slurm refused the requeue; the same sbatch command goes on from step $after"
  fi
  exit "$code"
}

# show_ends: the last lines of the ranks that said something; rank 0 speaks in the job's own output.
show_ends() {
  local file
  for file in $(find "$logs" -name 'rank-*.log' -size +0 | sort -V | head -n 8); do
    say "last lines of $file:"
    tail -n 5 "$file"
  done
}

train_job() {
  local code before=0 word resume=--resume
  local -a arguments=()
  trap forward USR1 TERM
  part=${SLURM_RESTART_COUNT:-0}
  # To begin anew is for the first part alone.
  for word in "$@"; do
    if [ "$word" != --no-resume ]; then arguments+=("$word"); elif [ "$part" = 0 ]; then resume=$word; fi
  done
  read_allocation
  arguments+=("${layout[@]}" "$resume")
  read_run "${arguments[@]}"
  job_dir=$runs_dir/slurm-$SLURM_JOB_ID
  logs=$job_dir/part-$part
  mkdir -p "$logs" || die "$logs cannot be made"
  [ "$resume" = --no-resume ] || before=$(last_step)
  say "part $((part + 1)) of job $SLURM_JOB_ID: $ranks ranks by $launcher, from step $before; ranks' output in $logs"
  [ -z "$asked" ] || next_part 75 "$before"
  start_ranks train "${arguments[@]}"
  await_ranks
  code=$?
  case "$code" in
    0) say "done: $run_dir/summary.json"; exit 0 ;;
    2) exit 2 ;;
    75) ;;
    *) show_ends ;;
  esac
  next_part "$code" "$before"
}
