#!/usr/bin/env python3
"""Renders real chat templates here and in transformers and counts the differences.

  template_parity.py DRIVER PATH... [--verbose] [--tokenizer=tokenizer.json]

PATH: a .jinja file, a folder that is searched for them, or a GGUF file with a template inside. DRIVER is the program
text_template_driver. Where Python raises, ours must refuse; else every character must be the same. Then the loss
masks: templates with generation blocks against those of transformers, the others against renderings of the
beginnings of each conversation, made here in Python. With a tokenizer, the tokens of every rendering too. Needs
transformers, jinja2 and, for GGUF files, gguf.
"""
import datetime
import json
import pathlib
import re
import subprocess
import sys

import transformers.utils.chat_template_utils as utils
from transformers.utils.chat_template_utils import _normalize_chat_messages as normalize

from template_conversations import conversations

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
DATE = datetime.datetime(2025, 7, 31, 12, 34, 56)


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None): return DATE


utils.datetime = FixedDate


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, job):
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the driver died on {json.dumps(job)[:500]}")
        return json.loads(line)


def read_templates(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from read_templates(sorted(path.rglob("*.jinja")))
        elif path.suffix == ".gguf":
            import gguf
            field = gguf.GGUFReader(path).fields["tokenizer.chat_template"]
            yield path.name, bytes(field.parts[field.data[0]]).decode()
        else:
            yield path.name, path.read_bytes().decode()


def render(source, case, count=None, prompt=None):
    """The text, and the ranges of generation blocks if there are some."""
    marked = "endgeneration" in source
    messages = normalize(case["messages"][:count])
    text, ranges = utils.render_jinja_template(
        [messages], tools=case.get("tools"), chat_template=source, return_assistant_tokens_mask=marked,
        add_generation_prompt=case.get("prompt", False) if prompt is None else prompt,
        **{**TOKENS, **case.get("arguments", {})})
    return text[0], ranges[0] if marked else None


def special_tokens(source):
    """What looks like a special token in a template: its tokenizer would say."""
    return sorted(set(re.findall(r"<[|｜][^<>\s]{1,40}[|｜]>|<(?:end|start)_of_turn>|</s>|\[/?[A-Z_]+\]", source)))


def job_of(name, case, want, source=""):
    return {"template": name, "special_tokens": special_tokens(source), "messages": case["messages"], "tools": case.get("tools"), "want": want,
            "arguments": case.get("arguments", {}), "prompt": case.get("prompt", False),
            "date": DATE.isoformat(), "rewritten": "leave_out"}


def prefix_ranges(source, case):
    """For each assistant's turn that the definition applies to: where its rendering as the last one, without the
    prompt before it, begins in the whole. The turn's end is checked by what must stand around it."""
    whole, _ = render(source, case, prompt=False)
    ranges = []
    for i, message in enumerate(case["messages"]):
        if message.get("role") != "assistant":
            continue
        before, after = render(source, case, i, True)[0], render(source, case, i + 1, False)[0]
        if after.startswith(before) and whole.startswith(after.rstrip()):
            ranges.append((len(before), len(after)))
    return whole, ranges


def compare_tokens(driver, name, source, case, path, tokenizer):
    """True if the ids and the tokens that pieces of the assistant overlap are the same, None if it does not render."""
    answer = driver.ask({**job_of(name, case, "tokens", source), "tokenizer": path})
    if "error" in answer:
        return None
    pieces = driver.ask({**job_of(name, case, "turns", source), "special_tokens": sorted(
        t.content for t in tokenizer.get_added_tokens_decoder().values() if t.special)})["pieces"]
    encoding = tokenizer.encode("".join(text for text, _ in pieces), add_special_tokens=False)
    mine = [is_assistant for text, is_assistant in pieces for _ in text]
    mask = [any(mine[begin:end]) for begin, end in encoding.offsets]
    return answer["ids"] == encoding.ids and answer["mask"] == mask


def compare_masks(driver, name, source, case):
    """True if equal, None if there is nothing to compare."""
    try:
        whole, marks = render(source, case, prompt=False)
        ranges = None if marks is not None else prefix_ranges(source, case)[1]
    except Exception:
        return None
    answer = driver.ask(job_of(name, case, "turns", source))
    if "error" in answer:
        return None if "cannot be told" in answer["error"] else False
    found, at = [], 0
    for text, is_assistant in answer["pieces"]:
        if is_assistant and found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + len(text))
        elif is_assistant:
            found.append((at, at + len(text)))
        at += len(text)
    if "".join(text for text, _ in answer["pieces"]) != whole:
        return False
    if marks is not None:
        merged = []
        for begin, end in marks:
            if merged and merged[-1][1] == begin:
                merged[-1] = (merged[-1][0], end)
            elif begin != end:
                merged.append((begin, end))
        return found == merged
    for begin, end in ranges:
        if begin == end:
            continue
        mine = next(((b, e) for b, e in found if b <= begin < e), None)
        # Turns in a row may touch. Behind eos nothing but the template's white space may be left out.
        if mine is None or whole[mine[1]:end].strip():
            return False
    return True


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    verbose = "--verbose" in sys.argv
    path = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("--tokenizer=")), None)
    driver = Driver(arguments[0])
    tokenizer = None
    if path:
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_file(path)
    cases = conversations()
    totals = dict(templates=0, exact=0, same=0, raised=0, different=0, masks=0, no_masks=0, wrong_masks=0, tokens=0, wrong_tokens=0)
    for name, source in read_templates(arguments[1:]):
        totals["templates"] += 1
        read = driver.ask({"template": name, "source": source, "tokens": TOKENS})
        different = 0
        for case_name, case in cases:
            try:
                expected, error = render(source, case)[0], None
            except Exception as raised:
                expected, error = None, f"{type(raised).__name__}: {raised}"
            got = driver.ask(job_of(name, case, "text"))
            if expected is None:
                good = "error" in got
                totals["raised"] += good
            else:
                good = got.get("text") == expected
                totals["same"] += good
            if not good:
                different += 1
                if verbose or different == 1:
                    print(f"{name} / {case_name}:\n  python {error or expected!r:.2000}\n  ours   {got!r:.2000}")
            mask = compare_masks(driver, name, source, case)
            totals["masks" if mask else "no_masks" if mask is None else "wrong_masks"] += 1
            if mask is False:
                answer = driver.ask(job_of(name, case, "turns", source))
                print(f"{name} / {case_name}: other mask {answer!r:.1500}")
            tokens = compare_tokens(driver, name, source, case, path, tokenizer) if path else None
            if tokens is not None:
                totals["tokens" if tokens else "wrong_tokens"] += 1
                if not tokens:
                    print(f"{name} / {case_name}: other tokens")
        totals["different"] += different
        totals["exact"] += different == 0
        if "error" in read:
            print(f"{name}: refused: {read['error']}")
    print(f"{len(cases)} conversations each; " + ", ".join(f"{k} {v}" for k, v in totals.items()))
    return totals["different"] + totals["wrong_masks"] + totals["wrong_tokens"] != 0


if __name__ == "__main__":
    sys.exit(main())
