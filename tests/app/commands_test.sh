#!/usr/bin/env bash
# check, generate, evaluate and convert from outside: what they print and leave.
. "$(dirname "$0")/lib.sh"
model=(--hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --log-level warning)
expect() { # WHAT PATTERN FILE
  checks=$((checks + 1))
  grep -qE "$2" "$3" || fail "$1: no /$2/ in: $(head -c 600 "$3")"
}

# check: the resolved configuration reads back, the layout is said, nothing is written.
launch 1 check "${model[@]}" --num-rollout 3 --ranks 6 --trainer-ranks 2 > "$work/check.txt" || fail "check"
expect "check prints the layout" "layout: 6 ranks: buffer 0, trainer 1-2, rollout 3-5" "$work/check.txt"
expect "check prints the memory" "memory: trainer rank: [0-9.]+ MB" "$work/check.txt"
launch 1 check "$work/check.txt" --ranks 6 > "$work/again.txt" || fail "check of its own output"
checks=$((checks + 1))
cmp -s "$work/check.txt" "$work/again.txt" || fail "check does not read back what it printed"
[ ! -e "$work/runs" ] || fail "check wrote something"

# Help and version: once, whatever the number of ranks.
for words in --version --help "train --help"; do
  checks=$((checks + 1))
  one=$(launch 1 $words) three=$(launch 3 $words)
  [ -n "$one" ] && [ "$three" = "$one" ] || fail "'$words' on 3 ranks prints: $three"
done

# help: the page of all flags is the one in docs/.
launch 1 help --markdown > "$work/flags.md" || fail "help --markdown"
checks=$((checks + 1))
diff -u docs/configuration.md "$work/flags.md" || fail "docs/configuration.md is out of date: physarum help --markdown > docs/configuration.md"

# convert and generate: every prompt of a file is answered, by h5py's eyes too.
for i in 1 2 3 4 5; do printf '{"question": "%d+%d=", "answer": "%d"}\n' "$i" "$i" $((i + i)); done > "$work/p.jsonl"
launch 2 convert "$work/p.jsonl" "$work/p.h5" --input-key question --label-key answer > "$work/convert.txt" || fail "convert"
expect "convert counts" "^5 prompts" "$work/convert.txt"
launch 2 generate "${model[@]}" --run-name gen --prompt-data "$work/p.h5" --env exact_match --n-samples-per-prompt 3 \
  --rollout-max-response-len 4 || fail "generate"
samples=$(ls "$work/runs/gen/samples/"*.h5)
checks=$((checks + 1))
[ "$(printf '%s\n' "$samples" | grep -c .)" = 1 ] || fail "not one file of samples: $samples"
python=/usr/bin/python3
if "$python" -c 'import h5py' 2>/dev/null; then
  checks=$((checks + 1))
  rewards=$("$python" -c 'import h5py, sys
sizes = []
h5py.File(sys.argv[1]).visititems(lambda name, item: sizes.append(len(item)) if name.endswith("reward") else None)
print(*sizes)' "$samples")
  [ "$rewards" = 15 ] ||
    fail "the file of samples has not 15 rewards"
fi

# A special token is one token, for the check of prompt lengths as for the engines.
printf '{"input": "%s", "label": "1"}\n' "$(printf '<|pad|>%.0s' $(seq 1500))" > "$work/special.jsonl"
launch 1 convert "$work/special.jsonl" "$work/special.h5" --label-key label >/dev/null || fail "convert of special tokens"
checks=$((checks + 1))
launch 1 check "${model[@]}" --num-rollout 1 --ranks 4 --prompt-data "$work/special.h5" >/dev/null || fail "1500 special tokens do not fit"

# evaluate: the same figure for any number of engines.
for ranks in 2 4; do
  launch "$ranks" evaluate "${model[@]}" --run-name "eval$ranks" --env-held-out 30 --rollout-max-response-len 4 || fail "evaluate on $ranks"
done
checks=$((checks + 1))
[ -n "$(key "$work/runs/eval2/summary.json" eval/arithmetic)" ] || fail "no eval/arithmetic"
[ "$(key "$work/runs/eval2/summary.json" eval/arithmetic)" = "$(key "$work/runs/eval4/summary.json" eval/arithmetic)" ] || fail "evaluations differ"
finish
