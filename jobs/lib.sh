# What jobs and tests share. Sourced.

# run_value SUMMARY KEY: the value of one key of a run's summary.json.
run_value() { sed -n 's|^ *"'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$|\1|p' "$1"; }
