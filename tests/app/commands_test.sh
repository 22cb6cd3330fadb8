#!/usr/bin/env bash
# check, generate, evaluate and convert from outside: what they print and leave.
. "$(dirname "$0")/lib.sh"
model=(--hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --log-level warning)

# check: the resolved configuration reads back, the layout is said, nothing is written.
launch 1 check "${model[@]}" --num-rollout 3 --ranks 6 --trainer-ranks 2 > "$work/check.txt" || fail "check"
expect "check prints the layout" "layout: 6 ranks: buffer 0, trainer 1-2, rollout 3-5" "$work/check.txt"
expect "check prints the memory" "memory: trainer rank: [0-9.]+ MB" "$work/check.txt"
expect "check prints what moves" "weights: trainer rank: puts [0-9.]+ (to [0-9.]+ )?MB of a full version, in 1 round at most" "$work/check.txt"
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
# A model that is split over ranks: the plan, and that it is no more than that.
launch 1 check "${model[@]}" --num-rollout 1 --ranks 13 --trainer-ranks 8 --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 4 --rollout-num-gpus-per-engine 4 >"$work/split.txt" || fail "check of a split model"
expect "check plans a split model" "weights: rollout rank: gets 0.[0-9]+ (to 0.[0-9]+ )?MB" "$work/split.txt"
expect "check says that it cannot train" "training with it is not possible yet" "$work/split.txt"

# check --slurm: a script that the shell reads, with what the configuration needs.
for form in --slurm --slurm-components; do
  "${PHYSARUM_PROGRAM:-build/bin/physarum}" check inputs/quickstart_sft.toml --ranks 6 $form --lr 1e-5 >"$work/job.sbatch" </dev/null || fail "check $form"
  checks=$((checks + 1))
  bash -n "$work/job.sbatch" || fail "check $form: no script"
  expect "check $form" "^train_job inputs/quickstart_sft.toml --lr 1e-5 " "$work/job.sbatch"
  expect "check $form" "^#SBATCH --signal=B:USR1@" "$work/job.sbatch"
done
"${PHYSARUM_PROGRAM:-build/bin/physarum}" check inputs/quickstart_sft.toml --ranks 6 --slurm --sglang-mem-fraction-static 0.2 >"$work/share.sbatch" </dev/null || fail "check --slurm with a share"
expect "a share is of this machine" "^# Memory is asked for as if the nodes were the machine that wrote this script" "$work/share.sbatch"
expect "check --slurm-components" "^#SBATCH --ntasks=3 " "$work/job.sbatch"
"${PHYSARUM_PROGRAM:-build/bin/physarum}" check inputs/quickstart_sft.toml --ranks 6 --slurm-components --update-weight-threads 3 >"$work/job.sbatch" \
  </dev/null || fail "check with threads for weights"
expect "cores for the threads of weights" "--cpus-per-task=3 " "$work/job.sbatch"

# inspect: what is there, and whether it is intact.
launch 3 train "${model[@]}" --run-name saved --num-rollout 2 --rollout-batch-size 2 --n-samples-per-prompt 2 --global-batch-size 4 \
  --rollout-max-response-len 4 --save-interval 1 --trainer-ranks 1 >"$work/saved.txt" 2>&1 || fail "train with checkpoints"
inspect() { "${PHYSARUM_PROGRAM:-build/bin/physarum}" inspect "$@" </dev/null; }
inspect "$work/runs/saved/checkpoints/step-2" >"$work/inspect.txt" || fail "inspect a checkpoint"
for pattern in "^verified: every byte" "^steps: 2$" "^weights: 50 tensors, 1116800 values$" "^run: saved, seed" "^buffer: " "^num_rollout = 2$"; do
  expect "inspect a checkpoint" "$pattern" "$work/inspect.txt"
done
inspect "$work/runs/saved" >"$work/inspect.txt" || fail "inspect a run"
for pattern in "^step-2: .*, verified$" "^samples: 4 in 2 groups, of 2 prompts" "^weight versions: 1 \(" "^verified: [0-9]+ datasets"; do
  expect "inspect a run" "$pattern" "$work/inspect.txt"
done
inspect "$work/p.h5" >"$work/inspect.txt" || fail "inspect prompts"
expect "inspect prompts" "^prompts: 5, " "$work/inspect.txt"
size=$(stat -c %s "$work/runs/saved/checkpoints/step-1/checkpoint.h5")
printf 'x' | dd of="$work/runs/saved/checkpoints/step-1/checkpoint.h5" bs=1 seek=$((size / 3)) conv=notrunc status=none
checks=$((checks + 1))
inspect "$work/runs/saved/checkpoints" >"$work/inspect.txt" 2>"$work/inspect.err"
[ $? = 2 ] || fail "inspect does not fail for a damaged checkpoint"
expect "inspect names damage" "^step-1: damaged: .*step-1" "$work/inspect.txt"
expect "inspect passes what is good" "^step-2: .*, verified$" "$work/inspect.txt"

# convert: a checkpoint becomes a Hugging Face directory with the very weights.
launch 1 convert "$work/runs/saved/checkpoints" "$work/hf" >"$work/convert.txt" || fail "convert a checkpoint"
expect "convert a checkpoint" "^1116800 parameters of step 2 in" "$work/convert.txt"
launch 3 train "${model[@]}" --run-name whole --num-rollout 2 --rollout-batch-size 2 --n-samples-per-prompt 2 --global-batch-size 4 \
  --rollout-max-response-len 4 --trainer-ranks 1 --save-hf "$work/direct" >"$work/whole.txt" 2>&1 || fail "train with --save-hf"
checks=$((checks + 1))
cmp "$work/hf/model.safetensors" "$work/direct/model.safetensors" || fail "a converted checkpoint differs from --save-hf"
[ -s "$work/hf/tokenizer.json" ] || fail "no tokenizer beside converted weights"

# convert: a GGUF file becomes a Hugging Face directory, in one file or in shards, and that one again in another type.
gguf=tests/model/data/gguf/llama.gguf
launch 2 convert "$gguf" "$work/of-gguf" >"$work/convert.txt" || fail "convert a GGUF file"
expect "convert a GGUF file" "^[0-9]+ parameters in .*of-gguf" "$work/convert.txt"
for name in config.json model.safetensors tokenizer.json tokenizer_config.json generation_config.json chat_template.jinja; do
  checks=$((checks + 1))
  [ -s "$work/of-gguf/$name" ] || fail "convert a GGUF file: no $name"
done
launch 1 convert "$gguf" "$work/shards" --max-shard-bytes 100000 >"$work/convert.txt" || fail "convert a GGUF file to shards"
launch 1 convert "$work/shards" "$work/one/" >"$work/convert.txt" || fail "convert shards to one file"
checks=$((checks + 1))
[ -s "$work/shards/model.safetensors.index.json" ] && [ "$(ls "$work/shards"/model-*.safetensors | grep -c .)" -gt 2 ] || fail "no shards"
cmp "$work/one/model.safetensors" "$work/of-gguf/model.safetensors" || fail "weights differ after shards"
for type in bf16 f16; do
  launch 1 convert "$work/one" "$work/$type" --dtype "$type" >"$work/convert.txt" || fail "convert to $type"
  inspect "$work/$type/model.safetensors" >"$work/inspect.txt" || fail "inspect a safetensors file"
  expect "inspect $type" "^tensors: 20 \(20 ${type^^}\), " "$work/inspect.txt"
done
expect "inspect a safetensors file" "^format: safetensors$" "$work/inspect.txt"
expect "inspect a safetensors file" "^verified: all values are finite$" "$work/inspect.txt"
inspect "$gguf" >"$work/inspect.txt" || fail "inspect a GGUF file"
for pattern in "^format: GGUF, version 3, alignment 32$" "^general.architecture: \"llama\"$" "^tokenizer.ggml.tokens: 268 items " \
  "^tensor blk.0.attn_q.weight: Q4_1 \[64 x 64\], 2560 bytes$"; do
  expect "inspect a GGUF file" "$pattern" "$work/inspect.txt"
done
launch 3 generate --hf-checkpoint "$work/bf16" --runs-dir "$work/runs" --log-level warning --run-name of-gguf --prompt-data "$work/p.h5" \
  --env exact_match --rollout-max-response-len 4 || fail "generate with converted weights"
finish
