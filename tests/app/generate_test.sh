#!/usr/bin/env bash
# generate and evaluate from outside: prompts in every form, several answers to a prompt, what is printed, what is left.
. "$(dirname "$0")/lib.sh"
model=(--hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --rollout-max-response-len 4)
summary() { printf '%s/runs/%s/summary.json' "$work" "$1"; }
same_answers() { # A B: files of JSON lines whose prompts, answers and rewards are the same
  checks=$((checks + 1))
  [ -s "$1" ] && cmp -s "$1" "$2" || fail "$1 and $2 differ: $(diff "$1" "$2" | head -n 4)"
}

for i in 1 2 3 4 5; do printf '{"question": "%d+%d=", "answer": "%d"}\n' "$i" "$i" $((i + i)); done > "$work/p.jsonl"
keys=(--input-key question --label-key answer)
launch 1 convert "$work/p.jsonl" "$work/p.h5" "${keys[@]}" >/dev/null || fail "convert"

# The same prompts as HDF5 and as JSON lines give the same answers.
launch 2 generate "${model[@]}" --run-name jsonl --prompt-data "$work/p.jsonl" "${keys[@]}" --env exact_match \
  --n-samples-per-prompt 5 --samples-jsonl >"$work/jsonl.txt" 2>&1 || fail "generate from JSON lines: $(tail -n 3 "$work/jsonl.txt")"
launch 3 generate "${model[@]}" --run-name hdf5 --prompt-data "$work/p.h5" --n-samples-per-prompt 5 --samples-jsonl \
  >"$work/hdf5.txt" 2>&1 || fail "generate from HDF5: $(tail -n 3 "$work/hdf5.txt")"
lines=$work/runs/jsonl/samples/samples_0.jsonl
same_answers "$lines" "$work/runs/hdf5/samples/samples_0.jsonl"
checks=$((checks + 1))
[ "$(wc -l < "$lines")" = 25 ] || fail "not 25 lines of samples"
expect "a line of samples" '^\{"prompt":0,"index":0,"input":"1\+1=","label":"2","metadata":\{\},"response":".*","reward":[01]\.0,"status":"(completed|truncated)","prompt_tokens":[0-9]+,"response_tokens":[1-4],"verifier":"exact_match",' "$lines"
expect "pass rates of generate" 'rollout/raw_reward [01]\.[0-9]{4}, pass@1 [01]\.[0-9]{4}, pass@2 [01]\.[0-9]{4}, pass@4 [01]\.[0-9]{4}$' "$work/jsonl.txt"
expect "throughput" 'throughput: [0-9.]+ tokens/s, [0-9.]+ requests/s, prefill share 0\.[0-9]+, reused share [01]\.[0-9]+, mean batch [0-9.]+$' "$work/jsonl.txt"
for name in rollout/tokens_per_s rollout/requests_per_s rollout/prefill_share rollout/mean_batch rollout/pass@1 rollout/pass@4 prompts answers; do
  checks=$((checks + 1))
  [ -n "$(key "$(summary jsonl)" "$name")" ] || fail "summary.json has no $name"
done
checks=$((checks + 1))
[ "$(key "$(summary jsonl)" answers)" = 25 ] || fail "summary.json counts not 25 answers"

# The likeliest tokens beside each drawn one: in the lines, in the file, and nothing else is changed.
launch 3 generate "${model[@]}" --run-name top --prompt-data "$work/p.h5" --n-samples-per-prompt 5 --samples-jsonl \
  --rollout-top-logprobs-num 3 --log-level warning || fail "generate with top log-probs"
top=$work/runs/top/samples/samples_0
checks=$((checks + 1))
sed 's/,"output_token_logprobs":.*$/}/' "$top.jsonl" | cmp -s - "$lines" || fail "top log-probs change answers"
expect "pairs of log-prob and id" '"output_token_logprobs":\[\[-[0-9.]+,[0-9]+\].*"output_top_logprobs":\[\[\[-[0-9.]+,[0-9]+\],\[-[0-9.]+,[0-9]+\],\[-[0-9.]+,[0-9]+\]\]' "$top.jsonl"
"${PHYSARUM_PROGRAM:-build/bin/physarum}" inspect "$top.h5" >"$work/inspect.txt" </dev/null || fail "inspect"
expect "inspect counts them" '^top log-probs: of [1-9][0-9]* tokens the 3 likeliest; [0-9]+ tokens were the likeliest themselves$' "$work/inspect.txt"
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  checks=$((checks + 1))
  /usr/bin/python3 - "$top.h5" <<'END' || fail "the columns of top log-probs are not what the page of the format says"
import sys
import h5py
import numpy

with h5py.File(sys.argv[1]) as file:
    def rows(name):
        return numpy.split(file[name + "/values"][:], file[name + "/ends"][:-1])
    for tokens, prompt, own, ids, tops in zip(rows("tokens"), file["sample/prompt_tokens"][:], rows("log_probs"),
                                              rows("top_log_probs/ids"), rows("top_log_probs/log_probs")):
        response = tokens[prompt:]
        ids, tops = (row.reshape(len(response), 3) for row in (ids, tops))
        assert (numpy.diff(tops) <= 0).all() and (own <= tops[:, 0]).all()
        assert (tops[ids == response[:, None]] == own[(ids == response[:, None]).any(axis=1)]).all()
END
fi

# Evaluation on several sets, each with figures of its own; the same for any number of engines.
head -n 2 "$work/p.jsonl" > "$work/q.jsonl"
for ranks in 2 4; do
  launch "$ranks" evaluate "${model[@]}" --run-name "sets$ranks" --env exact_match "${keys[@]}" --samples-jsonl \
    --eval-prompt-data "five=$work/p.jsonl,$work/q.jsonl" --n-samples-per-eval-prompt 2 \
    >"$work/sets$ranks.txt" 2>&1 || fail "evaluate on $ranks: $(tail -n 3 "$work/sets$ranks.txt")"
done
for set in five q; do
  expect "evaluation of $set" "evaluation: eval/$set [01]\\.[0-9]{4}, pass@1 [01]\\.[0-9]{4}, pass@2 [01]\\.[0-9]{4}\$" "$work/sets2.txt"
  for name in "eval/$set" "eval/$set-pass@1" "eval/$set-pass@2"; do
    checks=$((checks + 1))
    [ -n "$(key "$(summary sets2)" "$name")" ] || fail "summary.json has no $name"
    [ "$(key "$(summary sets2)" "$name")" = "$(key "$(summary sets4)" "$name")" ] || fail "$name differs on 2 and 4 ranks"
  done
done
expect "throughput of evaluate" 'throughput: [0-9.]+ tokens/s' "$work/sets2.txt"
same_answers "$work/runs/sets2/samples/eval_0.jsonl" "$work/runs/sets4/samples/eval_0.jsonl"
checks=$((checks + 2))
[ "$(grep -c '"set":"five"' "$work/runs/sets2/samples/eval_0.jsonl")" = 10 ] || fail "not 10 answers of the first set"
[ "$(grep -c '"set":"q","prompt":[01],' "$work/runs/sets2/samples/eval_0.jsonl")" = 4 ] || fail "not 4 answers of the second set"

# Bad prompts: the run does not begin, or it goes on and says which samples have failed and why.
long=$(printf '1%.0s' $(seq 3000))
printf '{"question": "%s", "answer": "1"}\n{"question": "1+1=", "answer": "2"}\n{"question": "", "answer": "3"}\n' "$long" > "$work/bad.jsonl"
bad=(generate "${model[@]}" --prompt-data "$work/bad.jsonl" "${keys[@]}" --env exact_match --n-samples-per-prompt 2)
refused 2 "bad.jsonl:3: the field 'question' is no text or an empty one" -- "${bad[@]}" --run-name refused
sed -i '$d' "$work/bad.jsonl"
refused 2 "bad.jsonl: the prompt in row 0 has 3000 tokens, at most [0-9]+ fit the context; .*--bad-prompts fail" -- "${bad[@]}" --run-name refused
checks=$((checks + 1))
[ ! -e "$work/runs/refused" ] || fail "a refused run left a directory"
printf '{"question": "", "answer": "3"}\n' >> "$work/bad.jsonl"
launch 2 "${bad[@]}" --run-name failed --bad-prompts fail --samples-jsonl >"$work/failed.txt" 2>&1 || fail "generate with bad prompts: $(tail -n 3 "$work/failed.txt")"
lines=$work/runs/failed/samples/samples_0.jsonl
checks=$((checks + 4))
[ "$(grep -c '"status":"failed"' "$lines")" = 4 ] || fail "not 4 failed samples"
[ "$(grep -c '"prompt":0,.*"status":"failed".*"verdict":{"failed":"the prompt of 3000 tokens is not answered' "$lines")" = 2 ] || fail "no reason for the long prompt: $(tail -c 300 "$lines")"
[ "$(grep -c '"prompt":2,.*"status":"failed".*it has no tokens' "$lines")" = 2 ] || fail "no reason for the empty prompt"
[ "$(key "$(summary failed)" failed_samples)" = 4 ] || fail "summary.json counts not 4 failed samples"
expect "warning" "^physarum: warning: 4 samples have failed" "$work/failed.txt"
checks=$((checks + 1))
grep -rq "prompt 0: the prompt of 3000 tokens is not answered" "$work/runs/failed/logs" || fail "the log does not name the prompt"

# Options of sampling and memory.
good=(generate "${model[@]}" --prompt-data "$work/p.jsonl" "${keys[@]}" --env exact_match --run-name refused)
refused 2 "\-\-eval-temperature: " -- "${good[@]}" --eval-temperature nan
refused 2 "\-\-rollout-top-p: " -- "${good[@]}" --rollout-top-p 1.5
refused 2 "\-\-kv-cache-bytes: keys and values of one sequence take [0-9]+ bytes, more than the 1000 that there are" -- "${good[@]}" --kv-cache-bytes 1000
refused 2 "\-\-sglang-mem-fraction-static: the memory of an engine is given in bytes and as a share" -- "${good[@]}" --kv-cache-bytes 100000000 --sglang-mem-fraction-static 0.5
refused 2 "\-\-sglang-mem-fraction-static: keys and values of one sequence take [0-9]+ bytes and weights" -- "${good[@]}" --sglang-mem-fraction-static 1e-6
refused 2 "\-\-samples-jsonl: " -- "${good[@]}" --samples-jsonl --no-save-samples
refused 2 "p.jsonl:1: there is no field 'text' \(there are: question answer\); name the right one with --input-key" -- "${good[@]}" --input-key text
refused 2 "two sets of prompts are called 'a'" -- "${good[@]}" --eval-prompt-data a=x.h5,a=y.h5
launch 3 "${good[@]/refused/share}" --n-samples-per-prompt 5 --samples-jsonl --sglang-mem-fraction-static 0.1 --log-level warning || fail "generate with a share of the memory"
same_answers "$work/runs/share/samples/samples_0.jsonl" "$work/runs/jsonl/samples/samples_0.jsonl"
launch 1 check "${model[@]}" --num-rollout 1 --ranks 4 --sglang-mem-fraction-static 0.1 >"$work/check.txt" || fail "check with a share of the memory"
expect "check shows the share" "memory: rollout rank: [0-9.]+ MB \\(weights [0-9.]+, key-value cache at most [0-9.]+, together 0.10 of [0-9.]+ for each of 4 ranks on this machine\\)" "$work/check.txt"
finish
