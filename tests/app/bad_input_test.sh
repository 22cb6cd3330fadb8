#!/usr/bin/env bash
# Whatever is wrong with the user's input: one line from one rank (what, where, how to mend), code 2, nothing
# half-written, no rank left hanging. On several ranks, as users start it.
. "$(dirname "$0")/lib.sh"
tiny=(train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" --rollout-batch-size 2
  --n-samples-per-prompt 2 --global-batch-size 4 --num-rollout 1 --rollout-max-response-len 4)

# Commands, keys, flags, values.
refused 2 "unknown command 'trian'; did you mean 'train'\?" -- trian
refused 3 "unknown flag '--rolout-batch-size'; did you mean '--rollout-batch-size'\?" -- "${tiny[@]}" --rolout-batch-size 3
printf '[optimizer]\nlrr = 1\n' > "$work/key.toml"
refused 3 "key.toml:2: unknown key 'lrr' in table \[optimizer\]; did you mean 'lr'\?" -- "${tiny[@]:0:1}" "$work/key.toml"
printf '[optimizer\nlr = 1\n' > "$work/syntax.toml"
refused 3 "syntax.toml:1:" -- train "$work/syntax.toml"
refused 3 "nowhere.toml" -- train "$work/nowhere.toml"
refused 3 "\-\-lr: value -1 is out of range" -- "${tiny[@]}" --lr -1
refused 3 "\-\-mode: 'sink' is not a choice; choose one of: sync" -- "${tiny[@]}" --mode sink
refused 3 "one argument too many" -- train "$work/key.toml" second.toml
for value in 0 nan 1e-300; do
  refused 3 "\-\-rollout-temperature" -- "${tiny[@]}" --rollout-temperature "$value"
done
refused 3 "\-\-rollout-top-p: top-p is not in \(0, 1\]; give 1 to switch it off" -- "${tiny[@]}" --rollout-top-p 0
refused 3 "\-\-rollout-min-p: value 1.5 is out of range; give a value from 0 to 1" -- "${tiny[@]}" --rollout-min-p 1.5
refused 3 "\-\-rollout-top-k: top-k leaves more tokens than are recorded; give a --rollout-nucleus-limit" -- "${tiny[@]}" --rollout-top-k 9 --rollout-nucleus-limit 8
refused 3 "\-\-rollout-repetition-penalty: value 0 is out of range" -- "${tiny[@]}" --rollout-repetition-penalty 0
refused 3 "\-\-rollout-presence-penalty: value nan is out of range" -- "${tiny[@]}" --rollout-presence-penalty nan
refused 3 "\-\-rollout-min-response-len: the shortest answer is longer than the longest" -- "${tiny[@]}" --rollout-min-response-len 5
refused 3 "\-\-rollout-stop: a stop string of 10240 bytes; give at most 1000" -- "${tiny[@]}" --rollout-stop "$(printf 'x%.0s' $(seq 10240))"
refused 3 "\-\-rollout-stop: what begins with \[ is not an array of quoted texts" -- "${tiny[@]}" --rollout-stop '[END]'
refused 3 "\-\-rollout-stop-token-ids: a stop token beyond the model's vocabulary" -- "${tiny[@]}" --rollout-stop-token-ids 3,512

# Over-sampling.
refused 3 "\-\-over-sampling-batch-size: a draw of 1 groups is smaller than a rollout batch of 2; give at least" -- "${tiny[@]}" --over-sampling-batch-size 1
refused 3 "\-\-partial-rollout: no step draws more groups than it takes.*; give --over-sampling-batch-size 4" -- "${tiny[@]}" --partial-rollout
refused 3 "\-\-mask-offpolicy-in-partial-rollout: .*; give --partial-rollout too" -- "${tiny[@]}" --mask-offpolicy-in-partial-rollout
refused 3 "\-\-partial-rollout-max-age.*; give --partial-rollout too" -- "${tiny[@]}" --partial-rollout-max-age 2

# How often weights change.
refused 3 "\-\-update-weights-interval 2: samples would be older than the mode allows" -- "${tiny[@]}" --update-weights-interval 2
refused 3 "\-\-update-weights-interval 3: samples would be older" -- "${tiny[@]}" --update-weights-interval 3 --mode async --max-weight-staleness 1
refused 3 "\-\-update-weights-interval 2: versions that are to be evaluated" -- "${tiny[@]}" --update-weights-interval 2 --mode async --eval-interval 3
refused 3 "\-\-mode: only synchronous steps over-sample" -- "${tiny[@]}" --over-sampling-batch-size 4 --mode async
refused 3 "\-\-dynamic-sampling-filter: 'std' is not a choice" -- "${tiny[@]}" --dynamic-sampling-filter std
refused 3 "nothing is generated to learn from labels" -- "${tiny[@]}" --loss-type sft_loss --over-sampling-batch-size 4
refused 2 "each prompt is answered once" -- generate "${tiny[@]:1:6}" --over-sampling-batch-size 40

PHYSARUM_CPU=abacus refused 3 "PHYSARUM_CPU: no kernels for 'abacus' here" -- "${tiny[@]}"

# Ranks and batches.
refused 3 "ranks" -- "${tiny[@]}" --trainer-ranks 5
refused 4 "ranks" -- "${tiny[@]}" --trainer-ranks 1 --rollout-ranks 1
refused 1 "mpirun|launch" -- "${tiny[@]}"
for flag in tensor-model-parallel-size pipeline-model-parallel-size expert-model-parallel-size expert-tensor-parallel-size \
  rollout-num-gpus-per-engine; do
  refused 3 "\-\-$flag: a model that is split over ranks cannot be computed yet; leave it at 1" -- "${tiny[@]}" "--$flag" 2
done
refused 1 "3 trainer ranks cannot be shared in groups of 2" -- check "${tiny[@]:1}" --ranks 6 --trainer-ranks 3 --tensor-model-parallel-size 2
refused 1 "3 rollout ranks cannot be shared in groups of 2" -- check "${tiny[@]:1}" --ranks 6 --trainer-ranks 2 --rollout-num-gpus-per-engine 2
# Without a launcher: the same word, or one rank that does everything.
program=${PHYSARUM_PROGRAM:-build/bin/physarum}
checks=$((checks + 2))
output=$("$program" "${tiny[@]}" 2>&1 </dev/null)
[ $? = 2 ] && [ "$(printf '%s\n' "$output" | grep -c .)" = 1 ] && [[ $output == *jobs/launch* ]] || fail "started alone: $output"
output=$("$program" "${tiny[@]}" --colocate --runs-dir "$work/alone" --log-level warning 2>&1 </dev/null)
[ $? = 0 ] && [ -z "$output" ] && [ -s "$work/alone/run/summary.json" ] || fail "started alone, colocated: $output"
refused 3 "global-batch-size" -- "${tiny[@]}" --global-batch-size 3
refused 3 "num_steps_per_rollout|num-steps-per-rollout|global_batch_siz" -- "${tiny[@]}" --num-steps-per-rollout 3
refused 3 "max-tokens-per-gpu" -- "${tiny[@]}" --use-dynamic-batch-size
refused 3 "context" -- "${tiny[@]}" --rollout-max-context-len 3

# Files.
refused 3 "config.json" -- "${tiny[@]}" --hf-checkpoint "$work/no-model"
mkdir "$work/model"
cp inputs/model-small/config.json inputs/model-small/tokenizer*.json "$work/model/"
refused 3 "safetensors" -- "${tiny[@]}" --hf-checkpoint "$work/model" --init checkpoint
head -c 100 /dev/zero > "$work/model/model.safetensors"
refused 3 "model.safetensors" -- "${tiny[@]}" --hf-checkpoint "$work/model" --init checkpoint
head -c 5000 inputs/model-small/tokenizer.json > "$work/model/tokenizer.json"
refused 3 "tokenizer.json" -- "${tiny[@]}" --hf-checkpoint "$work/model"
sed 's/"hidden_act": "silu"/"hidden_act": "gelu"/' inputs/model-small/config.json > "$work/model/config.json"
cp inputs/model-small/tokenizer.json "$work/model/"
refused 3 "hidden_act" -- "${tiny[@]}" --hf-checkpoint "$work/model"
refused 3 "nowhere.h5" -- "${tiny[@]}" --prompt-data "$work/nowhere.h5"
printf 'not an HDF5 file' > "$work/foreign.h5"
refused 3 "foreign.h5" -- "${tiny[@]}" --prompt-data "$work/foreign.h5"
printf '{"input": "1+1=", "label": "2"}\n{"input": "2+2=", "label": "4"}\n' > "$work/prompts.jsonl"
launch 2 convert "$work/prompts.jsonl" "$work/prompts.h5" --label-key label >/dev/null || fail "convert of good prompts"
head -c 1500 "$work/prompts.h5" > "$work/truncated.h5"
refused 3 "truncated.h5" -- "${tiny[@]}" --prompt-data "$work/truncated.h5"
printf '{"input": "1+1="}\n{"inp' > "$work/bad.jsonl"
refused 2 "bad.jsonl:2" -- convert "$work/bad.jsonl" "$work/bad.h5"
[ ! -e "$work/bad.h5" ] || fail "a refused conversion left a file"
refused 2 "exists" -- convert "$work/prompts.jsonl" "$work/prompts.h5"
printf '{"input": "%s", "label": "1"}\n' "$(printf '1%.0s' $(seq 3000))" > "$work/long.jsonl"
launch 1 convert "$work/long.jsonl" "$work/long.h5" --label-key label >/dev/null || fail "convert of a long prompt"
refused 3 "context|max-prompt" -- "${tiny[@]}" --prompt-data "$work/long.h5"

# Weights.
gguf=tests/model/data/gguf/llama.gguf
printf 'no GGUF file' > "$work/bad.gguf"
refused 2 "bad.gguf: is not a GGUF file|bad.gguf.*not a GGUF" -- convert "$work/bad.gguf" "$work/bad"
head -c 30000 "$gguf" > "$work/cut.gguf"
refused 2 "cut.gguf.*lies beyond the end of the file|lies beyond the end of the file.*cut.gguf" -- convert "$work/cut.gguf" "$work/bad"
sed 's/smollm/smallm/' "$gguf" > "$work/pre.gguf"
refused 2 "tokenizer.ggml.pre' is 'smallm'" -- convert "$work/pre.gguf" "$work/bad"
sed 's/blk.1.attn_v.weight/blk.1.attn_x.weight/' "$gguf" > "$work/tensor.gguf"
refused 2 "blk.1.attn_x.weight" -- convert "$work/tensor.gguf" "$work/bad"
refused 2 "nowhere.gguf" -- convert "$work/nowhere.gguf" "$work/bad"
refused 1 "bad.gguf" -- inspect "$work/bad.gguf"
launch 1 convert "$gguf" "$work/shards" --max-shard-bytes 100000 >/dev/null || fail "convert to shards"
rm "$work/shards/model-00002-of-"*
refused 2 "model-00002-of-.*is not there" -- convert "$work/shards" "$work/bad"
sed -i 's|model-00002-of|../model-00002-of|' "$work/shards/model.safetensors.index.json"
refused 2 "a shard is a file name in the same directory" -- convert "$work/shards" "$work/bad"
[ -z "$(ls -d "$work"/bad "$work"/bad.tmp 2>/dev/null)" ] || fail "a refused conversion left a directory"
refused 2 "exists" -- convert "$gguf" "$work/shards"

# Weights that are no numbers: nothing that a check before the run could see, so code 3, still one line.
launch 1 convert "$gguf" "$work/nan" >/dev/null || fail "convert for broken weights"
/usr/bin/python3 - "$work/nan/model.safetensors" <<'END' || fail "breaking weights"
import json, struct, sys
with open(sys.argv[1], 'r+b') as file:
    size = struct.unpack('<Q', file.read(8))[0]
    begin, end = json.loads(file.read(size))['model.norm.weight']['data_offsets']
    file.seek(8 + size + begin)
    file.write(b'\xff' * (end - begin))
END
checks=$((checks + 1))
output=$(launch 3 generate --hf-checkpoint "$work/nan" --runs-dir "$work/nan-runs" --rollout-batch-size 16 --num-rollout 1 \
  --n-samples-per-prompt 8 --rollout-max-response-len 4 --rollout-ranks 2 --log-level error 2>&1 >/dev/null)
code=$?
[ "$code" = 3 ] || fail "code $code instead of 3 for broken weights: $output"
[ "$(printf '%s\n' "$output" | grep -c .)" = 1 ] || fail "more than one line for broken weights: $output"
printf '%s\n' "$output" | grep -q "the logits of weight version 0 are not finite: 64 samples in a row failed" ||
  fail "broken weights: $output"

# Output.
refused 3 "cannot be written" -- "${tiny[@]}" --runs-dir /proc/nowhere
refused 3 "run-name" -- "${tiny[@]}" --run-name ../escape
[ ! -e "$work/runs" ] || fail "a refused run left $(find "$work/runs" | head -n 3)"
finish
