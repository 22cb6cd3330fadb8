#!/usr/bin/env python3
"""Writes tests/text/data/templates.golden.json: what transformers' Jinja makes of small templates of our own, and the
loss masks that it gives. Needs transformers 5 and jinja2 3.1.6. Run from the root of the repository."""
import datetime
import json
import pathlib

import transformers.utils.chat_template_utils as utils
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import _normalize_chat_messages as normalize

from template_cases import CASES, GENERATION

DATA = pathlib.Path("tests/text/data")
DATE = datetime.datetime(2025, 7, 31, 12, 34, 56)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
VARIABLES = {"n": 7, "x": 2.5, "s": " Grüße, Welt ", "l": [3, 1, 2], "d": {"b": 1, "a": [1, "z"], "C": None}, "e": [],
             "t": True}
MESSAGES = [{"role": "user", "content": "Hi <|im_end|>"},
            {"role": "assistant", "content": "Hello!", "reasoning": "greet", "tool_calls": None},
            {"role": "user", "content": "Grüße, \"世界\" & 😀\n"}]

CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
MARKED = ("{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|im_start|>assistant\\n' }}"
          "{% generation %}{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}"
          "{% else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}")


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None): return DATE


def render(source):
    try:
        text, _ = utils.render_jinja_template([normalize(MESSAGES)], chat_template=source, **TOKENS, **VARIABLES)
        return {"text": text[0]}
    except Exception as error:
        return {"error": type(error).__name__}


def generated(source):
    """The text, and what of it stands in generation blocks; neighbours are one."""
    (text,), (ranges,) = utils.render_jinja_template([normalize(MESSAGES)], chat_template=source, **TOKENS, **VARIABLES,
                                                     return_assistant_tokens_mask=True)
    marks = [any(begin <= i < end for begin, end in ranges) for i in range(len(text))]
    starts = [i for i in range(len(text)) if i == 0 or marks[i] != marks[i - 1]]
    return [[text[i:j], marks[i]] for i, j in zip(starts, starts[1:] + [len(text)])]


def masks():
    """Conversations whose turns the tokenizer's own tokens mark, by both kinds of templates."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(DATA / "qwen.tokenizer.json"))
    chats = [
        [("user", "Hi"), ("assistant", "Hello there!")],
        [("system", "Be brief."), ("user", "2+2?"), ("assistant", "4"), ("user", "Sure?"), ("assistant", "Yes, 4.\n")],
        [("user", "e"), ("assistant", ""), ("user", "Grüße 世界"), ("assistant", "\n\né 👩‍👩‍👧 ok ")],
        [("user", "cafe\u0301 A\u030a"), ("assistant", "re\u0301sume\u0301 \u212b"), ("user", "\u0301x"), ("assistant", "\u0301y")],
        [("assistant", "I begin"), ("user", "ok"), ("assistant", "good")],
    ]
    result = []
    for chat in chats:
        messages = [{"role": role, "content": content} for role, content in chat]
        out = tokenizer.apply_chat_template(messages, chat_template=MARKED, return_dict=True,
                                            return_assistant_tokens_mask=True)
        result.append({"messages": messages, "ids": out["input_ids"], "mask": out["assistant_masks"]})
    return {"marked": MARKED, "plain": CHATML, "cases": result}


def main():
    utils.datetime = FixedDate
    golden = {"messages": MESSAGES, "variables": VARIABLES, "tokens": TOKENS, "date": DATE.isoformat(),
              "templates": [{"feature": feature, "source": source, **render(source)}
                            for feature, sources in CASES.items() for source in sources], "masks": masks(),
              "generation": [{"source": source, "pieces": generated(source)} for source in GENERATION]}
    path = DATA / "templates.golden.json"
    path.write_text(json.dumps(golden, ensure_ascii=False, indent=0) + "\n")
    print(len(golden["templates"]), "templates,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
