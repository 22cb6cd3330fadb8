#!/usr/bin/env bash
# Conversations from outside: through the model's chat template to engines and trainers.
. "$(dirname "$0")/lib.sh"

cp -r inputs/model-small "$work/model"
printf '%s\n' "{%- for m in messages %}<|im_start|>{{ m.role }}" "{{ m.content }}<|im_end|>" "{% endfor %}" \
  "{%- if add_generation_prompt %}<|im_start|>assistant" "{% if hint %}{{ hint }}{% endif %}{% endif %}" |
  sed -e 'N;N;N;N;s/{% endfor %}\n/{% endfor %}/' > "$work/model/chat_template.jinja"
run=(--hf-checkpoint "$work/model" --init random --runs-dir "$work/runs" --log-level warning)

# What the samples of a run hold: prompt, then the response with "_" for each token that does not count.
python=/usr/bin/python3
cat > "$work/show.py" <<'PYTHON'
import h5py, json, sys
names = {v: k for k, v in json.load(open("inputs/model-small/tokenizer.json"))["model"]["vocab"].items()}
for t in json.load(open("inputs/model-small/tokenizer.json"))["added_tokens"]: names[t["id"]] = t["content"]
text = lambda ids: "".join(names[int(i)] for i in ids).replace("\u0120", " ").replace("\u010a", "|")
f = h5py.File(sys.argv[1])
ends, mask_ends = f["tokens/ends"][:], f["mask/ends"][:]
prompts = f["sample/prompt_tokens"][:]
for row in range(len(ends)):
    tokens = f["tokens/values"][(ends[row - 1] if row else 0):ends[row]]
    mask = f["mask/values"][(mask_ends[row - 1] if row else 0):mask_ends[row]]
    answer = "".join(text([t]) if m else "_" for t, m in zip(tokens[prompts[row]:], mask))
    print(text(tokens[:prompts[row]]) + " => " + (answer if sys.argv[2] == "answers" else ""))
PYTHON
shows() { # WHAT EXPECTED FILE answers|prompts
  "$python" -c 'import h5py' 2>/dev/null || return 0
  checks=$((checks + 1))
  local got
  got=$("$python" "$work/show.py" "$3" "$4" | sort -u)
  [ "$got" = "$2" ] || fail "$1: $got"
}

# One conversation and one text: both reach the engine in the template's form, with its arguments.
printf '%s\n' '{"q": [{"role": "system", "content": "s"}, {"role": "user", "content": "1+1"}], "a": "2"}' \
  '{"q": "2+2", "a": "4"}' > "$work/chats.jsonl"
launch 1 convert "$work/chats.jsonl" "$work/chats.h5" --input-key q --label-key a >/dev/null || fail "convert"
checks=$((checks + 1))
launch 1 inspect "$work/chats.h5" | grep -q "of them conversations: 1" || fail "inspect does not count conversations"
launch 2 generate "${run[@]}" --run-name gen --prompt-data "$work/chats.h5" --env exact_match \
  --rollout-max-response-len 2 --apply-chat-template --apply-chat-template-kwargs '{"hint": "7"}' || fail "generate"
shows "prompts" "<|im_start|>system|s<|im_end|>|<|im_start|>user|1+1<|im_end|>|<|im_start|>assistant|7 => 
<|im_start|>user|2+2<|im_end|>|<|im_start|>assistant|7 => " "$(ls "$work/runs/gen/samples/"*.h5)" prompts

# Supervised: the assistant's turns count, and nothing else.
printf '%s\n' '{"q": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"},
  {"role": "user", "content": "3"}, {"role": "assistant", "content": "4"}]}' | tr -d '\n' > "$work/lesson.jsonl"
launch 1 convert "$work/lesson.jsonl" "$work/lesson.h5" --input-key q >/dev/null || fail "convert of a lesson"
launch 3 train "${run[@]}" --run-name sft --prompt-data "$work/lesson.h5" --loss-type sft_loss --num-rollout 1 \
  --rollout-batch-size 1 --n-samples-per-prompt 1 --global-batch-size 1 --env exact_match --apply-chat-template ||
  fail "supervised learning"
# Between the two answers stand a line end and as many tokens as before the first.
if "$python" -c 'import h5py' 2>/dev/null; then
  between=$("$python" -c 'import h5py, sys; print("_" * (1 + int(h5py.File(sys.argv[1])["sample/prompt_tokens"][0])))' \
    "$(ls "$work/runs/sft/samples/"*.h5)")
fi
shows "lesson" "<|im_start|>user|1<|im_end|>|<|im_start|>assistant| => 2<|im_end|>${between:-}4<|im_end|>_" \
  "$(ls "$work/runs/sft/samples/"*.h5)" answers

# What cannot be asked is said before the run, in one line.
train=(train "${run[@]}" --num-rollout 1 --rollout-batch-size 2 --n-samples-per-prompt 1 --global-batch-size 2 --env exact_match)
refused 3 "conversation, and no chat template is applied.*--apply-chat-template" -- "${train[@]}" --prompt-data "$work/chats.h5"
refused 3 "chat template" -- train --hf-checkpoint inputs/model-small --init random --runs-dir "$work/runs" \
  --num-rollout 1 --rollout-batch-size 2 --n-samples-per-prompt 1 --global-batch-size 2 --apply-chat-template
refused 1 "not applied" -- "${train[@]}" --chat-template-date 2025-01-01
refused 1 "no JSON object" -- "${train[@]}" --apply-chat-template --apply-chat-template-kwargs '[1]'
printf '{"q": [{"role": "user", "content": "1"}]}' > "$work/silent.jsonl"
launch 1 convert "$work/silent.jsonl" "$work/silent.h5" --input-key q >/dev/null || fail "convert of a question"
refused 3 "no turn of the assistant" -- "${train[@]}" --prompt-data "$work/silent.h5" --loss-type sft_loss --apply-chat-template
printf '%s' "{{ raise_exception('only pairs') }}" > "$work/model/chat_template.jinja"
refused 3 "only pairs" -- "${train[@]}" --prompt-data "$work/chats.h5" --apply-chat-template
printf '%s' "{% include 'x' %}" > "$work/model/chat_template.jinja"
refused 3 "chat_template.jinja:1:[0-9]+" -- "${train[@]}" --prompt-data "$work/chats.h5" --apply-chat-template
finish
