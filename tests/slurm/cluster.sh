# A Slurm of our own for the tests: munged, slurmctld and a few slurmd in a private folder, with ports
# and a key of their own, so that a system's Slurm is neither used nor touched. Sourced after tests/app/lib.sh.
#
#   start_cluster FOLDER NODES     the nodes are this machine by other names, each in a UTS namespace
#   stop_cluster                   ends what start_cluster started, by process id
#
# Two names for one machine are what makes Open MPI and Slurm behave as on two machines: daemons are
# started by srun, ranks talk over TCP. Setting a host name needs root.

# What is missing here, in words; nothing if the tests can run.
cluster_needs() {
  local tool
  for tool in munged slurmctld slurmd sbatch srun scontrol scancel squeue unshare; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "no $tool: jobs/setup.sh --slurm installs Slurm"; return; }
  done
  [ "$(id -u)" = 0 ] && unshare --uts true 2>/dev/null || echo "not root: the test's nodes cannot have host names of their own"
}

# A port that nobody listens on, from START up.
free_port() {
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

cluster_pids=()
# start_daemon NAME COMMAND...: in the foreground of a process of ours, so that its id is known.
start_daemon() {
  local name=$1
  shift
  "$@" >"$cluster/$name.out" 2>&1 </dev/null &
  cluster_pids+=($!)
}

start_cluster() {
  cluster=$1
  local nodes=$2 node base port
  PATH=$PATH:/usr/sbin
  # Where the test itself is a job of another Slurm.
  unset "${!SLURM_@}"
  mkdir -p "$cluster"/{state,run}
  chmod 755 "$cluster"
  (umask 077; head -c 128 /dev/urandom >"$cluster/munge.key")
  base=$(free_port $((20000 + $$ % 10000)))
  {
    cat <<CONF
ClusterName=physarum
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/run/munge.socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool-%n
TmpFS=$cluster/tmp-%n
SlurmctldPidFile=$cluster/run/slurmctld.pid
SlurmdPidFile=$cluster/run/slurmd-%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=2,sched_min_interval=100000
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=10
MinJobAge=600
SlurmctldDebug=info
SlurmdDebug=info
JobCompType=jobcomp/filetxt
JobCompLoc=$cluster/completed
CONF
    # Eight places each whatever the machine has: ranks share cores, as in the other tests.
    for node in $(seq "$nodes"); do
      echo "NodeName=node$node NodeHostname=node$node NodeAddr=127.0.0.1 Port=$((base + node)) CPUs=8 RealMemory=16000"
    done
    echo "PartitionName=all Nodes=node[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
  } >"$cluster/slurm.conf"
  export SLURM_CONF=$cluster/slurm.conf

  start_daemon munged munged --foreground --force --num-threads=2 --key-file="$cluster/munge.key" \
    --socket="$cluster/run/munge.socket" --pid-file="$cluster/run/munged.pid" \
    --log-file="$cluster/munged.log" --seed-file="$cluster/munge.seed"
  wait_until 100 "munged's socket" test -S "$cluster/run/munge.socket" || return 1
  start_daemon slurmctld slurmctld -D -c
  for node in $(seq "$nodes"); do
    mkdir -p "$cluster/spool-node$node" "$cluster/tmp-node$node"
    # exec keeps the process id.
    start_daemon "slurmd-node$node" unshare --uts bash -c "hostname node$node && exec slurmd -D -c -N node$node"
  done
  wait_until 100 "all nodes idle" nodes_idle "$nodes"
}
nodes_idle() { [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = "$1" ]; }

no_jobs() { [ -z "$(squeue -h 2>/dev/null)" ]; }

stop_cluster() {
  local pid
  [ "${#cluster_pids[@]}" -gt 0 ] || return 0
  # Jobs first: without slurmd nobody would end them.
  scancel --user=root --full 2>/dev/null
  wait_until 100 "the end of all jobs" no_jobs
  # Last started, first ended.
  for ((i = ${#cluster_pids[@]} - 1; i >= 0; i--)); do
    pid=${cluster_pids[i]}
    kill -TERM "$pid" 2>/dev/null
  done
  for pid in "${cluster_pids[@]}"; do wait "$pid" 2>/dev/null; done
  cluster_pids=()
}
