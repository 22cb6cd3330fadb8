#!/usr/bin/env python3
"""Makes the problems of jobs/smollm2.sh: sums and differences of one and two digits, as conversations.

  make_problems.py [DIRECTORY]     writes train.jsonl, one_digit_held_out.jsonl, two_digit_held_out.jsonl

A pair of numbers is held out in all its wordings, so no held-out question is a training question in
other words. Rows are in an order that a seed decides; the same Python gives the same files.
"""
import json
import pathlib
import random
import sys

WORDINGS = {
    "+": [
        "What is {a} + {b}?",
        "What is {a} plus {b}?",
        "How much is {a} + {b}?",
        "Add {a} and {b}.",
    ],
    "-": [
        "What is {a} - {b}?",
        "What is {a} minus {b}?",
        "How much is {a} - {b}?",
        "Subtract {b} from {a}.",
    ],
}


def pairs(smallest, largest):
    numbers = range(smallest, largest + 1)
    sums = [("+", a, b) for a in numbers for b in numbers]
    differences = [("-", a, b) for a in numbers for b in numbers if a >= b]
    return sums + differences


def row(problem, wording):
    operator, a, b = problem
    answer = a + b if operator == "+" else a - b
    question = WORDINGS[operator][wording].format(a=a, b=b)
    return {
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": question},
        ],
        "answer": str(answer),
        "metadata": {"problem": f"{a} {operator} {b}"},
    }


def write(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    print(f"{len(rows)} problems in {path}")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    rng = random.Random(1)
    one, two = pairs(1, 9), pairs(10, 99)
    rng.shuffle(one)
    rng.shuffle(two)
    held_one, train_one = one[:50], one[50:]
    held_two, train_two = two[:50], two[50:70]
    all_wordings = range(len(WORDINGS["+"]))
    train = [row(p, w) for p in train_one + train_two for w in all_wordings]
    rng.shuffle(train)
    write(folder / "train.jsonl", train)
    write(folder / "one_digit_held_out.jsonl", [row(p, w) for p in held_one for w in all_wordings])
    write(folder / "two_digit_held_out.jsonl", [row(p, w) for p in held_two for w in all_wordings])


main()
