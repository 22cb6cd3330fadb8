#!/usr/bin/env bash
# Tokens drawn from a cut distribution: what training computes of them is of the same cut distribution.
. "$(dirname "$0")/lib.sh"
flags=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --seed 7 --rollout-batch-size 2
  --n-samples-per-prompt 4 --global-batch-size 8 --num-rollout 2 --rollout-max-response-len 6 --lr 1e-3 --lr-decay-style constant
  --log-level warning --trainer-ranks 1
  --entropy-coef 0.01) # a random model never earns a reward: without it no sample would matter

other() { # NAME FORBIDDEN GOT
  checks=$((checks + 1))
  [ -n "$3" ] && [ "$2" != "$3" ] || fail "$1: the same checksum '$3'"
}
# exact NAME: trainer and engines agree to the bit in every step.
exact() {
  checks=$((checks + 1))
  grep -o '"train/train_rollout_logprob_abs_diff": [^,}]*' "$work/runs/$1/metrics.jsonl" |
    diff - <(printf '"train/train_rollout_logprob_abs_diff": %s\n' 0 0) || fail "log-probs of trainer and engines differ in run $1"
}

whole=$(trained whole 3 --save-hf "$work/hf")
same "a limit where nothing is cut" "$whole" "$(trained whole7 3 --rollout-nucleus-limit 7)"
cut=$(trained cut 3 --rollout-top-p 0.9)
exact cut
other "top-p" "$whole" "$cut"
same "the same run again" "$cut" "$(trained again 3 --rollout-top-p 0.9)"
same "two engines" "$cut" "$(trained engines2 4 --rollout-top-p 0.9)"
same "a limit above all nuclei" "$cut" "$(trained limit512 3 --rollout-top-p 0.9 --rollout-nucleus-limit 512)"
expect "the size of nuclei is reported" '"rollout/top_p_kept_vocab_per_token": [1-4][0-9][0-9]' "$work/runs/cut/metrics.jsonl"

off=$(trained off 3 --rollout-top-p 0.9 --rollout-nucleus-limit 0)
exact off
other "recording" "$cut" "$off"

narrow=$(trained narrow 3 --rollout-top-p 0.9 --rollout-nucleus-limit 16)
exact narrow
other "a limit below the nuclei" "$cut" "$narrow"
expect "a warning when nuclei are made smaller" "the likeliest of them are drawn from .--rollout-nucleus-limit" "$work/runs/narrow/logs/rank-2.log"
expect "and their size" '"rollout/top_p_kept_vocab_per_token": 16[,}]' "$work/runs/narrow/metrics.jsonl"
expect "how many were made smaller" '"rollout/narrowed_nuclei": [1-9][0-9]*[,}]' "$work/runs/narrow/metrics.jsonl"
expect "that is in the summary" '"rollout/narrowed_nuclei": [1-9]' "$work/runs/narrow/summary.json"
same "top-k of as many" "$narrow" "$(trained top16 3 --rollout-top-k 16)"
exact top16

# With a reference, old log-probs of a pass of their own, and several kinds of cuts.
trained all 3 --rollout-top-p 0.95 --rollout-top-k 100 --rollout-min-p 0.01 --rollout-temperature 0.8 --num-steps-per-rollout 2 \
  --global-batch-size 4 --use-kl-loss --kl-loss-coef 0.01 --ref-load "$work/hf" >"$work/all.checksum"
exact all

samples=$(ls "$work/runs/narrow/samples/"samples_*.h5 | head -n 1)
"${PHYSARUM_PROGRAM:-build/bin/physarum}" inspect "$samples" >"$work/inspect.txt" </dev/null || fail "inspect"
expect "inspect says that they are there" "^nuclei: [1-9][0-9]* tokens were drawn from recorded ids, 16 on average, at most 16$" "$work/inspect.txt"
expect "inspect says the version of the format" "^format: physarum.samples, version 3$" "$work/inspect.txt"
"${PHYSARUM_PROGRAM:-build/bin/physarum}" inspect "$(ls "$work/runs/whole/samples/"samples_*.h5 | head -n 1)" >"$work/inspect.txt" </dev/null || fail "inspect"
checks=$((checks + 1))
! grep -q "^nuclei" "$work/inspect.txt" || fail "inspect speaks of nuclei that are not there"

# h5py's eyes: every token is among the ids that it was drawn from.
python=/usr/bin/python3
if "$python" -c 'import h5py' 2>/dev/null; then
  checks=$((checks + 1))
  "$python" - "$samples" <<'END' || fail "the columns of nuclei are not what the page of the format says"
import sys
import h5py
import numpy

with h5py.File(sys.argv[1]) as file:
    def rows(name):
        return numpy.split(file[name + "/values"][:], file[name + "/ends"][:-1])
    columns = zip(rows("tokens"), file["sample/prompt_tokens"][:], rows("nuclei/ids"), rows("nuclei/sizes"))
    for tokens, prompt, ids, sizes in columns:
        response = tokens[prompt:]
        assert len(sizes) == len(response) and sizes.sum() == len(ids) and (sizes == 16).all()
        for token, nucleus in zip(response, numpy.split(ids, sizes.cumsum()[:-1])):
            assert token in nucleus and (numpy.diff(nucleus) > 0).all()
END
fi
finish
