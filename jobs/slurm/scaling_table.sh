# The measurement of jobs/slurm/scaling.sbatch and its table; sourced after run_job.sh.

# use_ranks N: takes N of the allocation's ranks.
use_ranks() {
  case "$1" in ''|*[!0-9]*|0) die "PHYSARUM_SCALING takes positive numbers, not '$1'" ;; esac
  [ "$1" -le "$ranks" ] || die "$1 ranks asked for, the job has $ranks tasks; give sbatch more nodes"
  ranks=$1
}

# The ranks fill node after node. Nodes that stay empty go back to Slurm; if it refuses, the job keeps them.
place_ranks() {
  local -a places
  rank_hosts | head -n "$ranks" >"$logs/hosts"
  mapfile -t places < <(uniq -c "$logs/hosts" | awk '{ print $1 }')
  used_nodes=${#places[@]}
  # Left alone, srun would divide the ranks in its own way.
  unset SLURM_NTASKS_PER_NODE
  export SLURM_HOSTFILE=$logs/hosts SLURM_DISTRIBUTION=arbitrary
  [ "$used_nodes" -lt "$SLURM_JOB_NUM_NODES" ] || return 0
  (cd "$logs" && scontrol update JobId="$SLURM_JOB_ID" NumNodes="$used_nodes" >/dev/null) || return 0
  # Slurm leaves a script with the new values of its variables, without the one that mpirun asks for.
  . "$logs/slurm_job_${SLURM_JOB_ID}_resize.sh"
  export SLURM_TASKS_PER_NODE
  SLURM_TASKS_PER_NODE=$(IFS=,; echo "${places[*]}")
}

# median KEY: of the run's steps but the first, which also pays for starting; - without any.
median() {
  sed -n '2,$ s|.*"'"$1"'": \([-0-9.e+]*\).*|\1|p' "$run_dir/metrics.jsonl" | sort -g |
    awk '{ v[NR] = $1 } END { if (NR == 0) print "-"; else printf "%.4f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# write_table FOLDER: table.tsv and table.txt from all rows there. Tasks may do it at the same time: each looks
# again after it has put its table in place, so that the last one there holds all rows. No locks: they do not
# work on every file system.
write_table() {
  local folder=$1 seen=
  while [ "$seen" != "$(cat "$folder"/rows/*.tsv)" ]; do
    seen=$(cat "$folder"/rows/*.tsv)
    { printf 'ranks\tnodes\tlayout\tsteps\tseconds\tstep_s\tsamples_per_s\tspeedup\tweights\n'
      # Speed-up: samples per second against the row with the fewest ranks.
      sort -n <<<"$seen" | awk -F '\t' -v OFS='\t' 'NR == 1 { first = $7 }
        { speedup = first > 0 && $7 > 0 ? sprintf("%.2f", $7 / first) : "-"; print $1, $2, $3, $4, $5, $6, $7, speedup, $8 }'
    } >"$folder/table.tsv.$SLURM_JOB_ID"
    column -t -s "$(printf '\t')" "$folder/table.tsv.$SLURM_JOB_ID" >"$folder/table.txt.$SLURM_JOB_ID"
    mv "$folder/table.tsv.$SLURM_JOB_ID" "$folder/table.tsv"
    mv "$folder/table.txt.$SLURM_JOB_ID" "$folder/table.txt"
  done
}

# measure RANKS ARGUMENT...: one row of the table.
measure() {
  local count=$1 name code step samples table row
  shift
  name=scaling-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
  read_allocation
  use_ranks "$count"
  read_run "$@" --run-name "$name-ranks-$count"
  table=$runs_dir/$name
  logs=$table/logs-$count
  mkdir -p "$table/rows" "$logs" || die "$table cannot be made"
  place_ranks
  say "measuring $ranks ranks on $used_nodes nodes by $launcher; output of ranks in $logs"
  start_ranks train "$@" --run-name "$name-ranks-$count"
  await_ranks
  code=$?
  if [ "$code" != 0 ]; then
    [ "$code" = 2 ] || show_ends
    say "no row for $ranks ranks: code $code"
    exit "$code"
  fi
  step=$(median perf/step_time)
  samples=$(awk -v n="$(setting rollout_batch_size)" -v k="$(setting n_samples_per_prompt)" -v t="$step" \
    'BEGIN { if (t > 0) printf "%.1f", n * k / t; else print "-" }')
  row=$table/rows/$count.tsv
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$ranks" "$used_nodes" "$(summary layout | sed 's/^[0-9]* ranks: //')" \
    "$(summary steps)" "$(summary seconds | awk '{ printf "%.2f", $1 }')" "$step" "$samples" "$(summary final_weights_checksum | head -c 8)" >"$row.tmp"
  mv "$row.tmp" "$row"
  write_table "$table"
  say "table so far, in $table/table.txt:"
  cat "$table/table.txt"
}
