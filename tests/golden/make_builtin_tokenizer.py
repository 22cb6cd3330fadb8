#!/usr/bin/env python3
"""Makes inputs/model-small: config.json, tokenizer.json and tokenizer_config.json of the built-in model.

  make_builtin_tokenizer.py [DIRECTORY]     needs the Python package tokenizers (made with 0.23.3)

Exactly 512 ids: 256 bytes, 252 merges, 4 special tokens. The merges are trained on the sentences in
this file and nothing else. Digits and operators never merge, so `37+85=` is one token a character.
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOCABULARY = 512
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"]
CHARACTERS = "0123456789+-*/=?. " + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
# The pattern of Qwen2: digits one by one, words with one leading space.
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")

SENTENCES = """
Find the sum of the two numbers and write only the result.
What is the difference between the larger number and the smaller number?
Multiply both numbers, then take away the first one.
Add the numbers in the list from left to right.
The answer is the last number that you write.
Think step by step, and check each step before you go on.
First add the ones, then add the tens, and do not forget to carry.
When the ones make ten or more, carry one to the tens.
Write the answer with three digits, and put zeros in front when it is shorter.
A number is even when it can be divided by two without a remainder.
How many apples are left when four of them have been eaten?
There are seven days in a week and twelve months in a year.
A box holds six eggs, so five boxes hold thirty eggs.
Each shelf has nine books; how many books are on eight shelves?
She bought three pencils and gave one of them to her brother.
He walked two miles in the morning and five miles in the evening.
The train leaves at eight and arrives at eleven, so it takes three hours.
Half of twenty is ten, and a quarter of twenty is five.
If the total is forty and there are four people, everyone gets ten.
Let us compare the two results and see which one is greater.
The product of any number and zero is zero.
The order in which we add numbers does not change the sum.
Subtract the second number from the first number.
Please solve the problem and show your work.
You are a helpful assistant. You answer questions about numbers.
Is this correct? Yes, the result is right. No, the result is wrong; try again.
Now we know that the value must be less than one hundred.
The slime mould finds the shortest path between its sources of food.
Every part of the network grows where something flows and shrinks where nothing does.
Water that finds a way makes the way wider for the water that comes after it.
A teacher writes a question on the board, and the students think about the answer.
They worked together, because many small steps are better than one great leap.
user
assistant
system
"""
QUESTIONS = ["What is {a} plus {b}?", "What is {a} minus {b}?", "What is {a} times {b}?",
             "Calculate the sum of {a} and {b}.", "The sum of {a} and {b} is {c}.",
             "{a} plus {b} equals {c}.", "{a} minus {b} equals {d}.", "The answer is {c}.",
             "Tom has {a} marbles and finds {b} more. How many marbles does he have now?",
             "There were {a} birds on the tree and {b} flew away. How many are left?"]


def corpus():
    """Operators stand only between digits, so the trainer never sees a pair with one to merge."""
    for line in SENTENCES.strip().splitlines():
        yield line + "\n"
    for i in range(120):
        a, b = (37 * i + 11) % 100, (53 * i + 7) % 100
        yield QUESTIONS[i % len(QUESTIONS)].format(a=max(a, b), b=min(a, b), c=a + b, d=abs(a - b)) + "\n"
        yield f"{a}+{b}={a + b}\n{a}*{b}={a * b}\n"


def build():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY - len(SPECIAL), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL])
    return tokenizer


def check(tokenizer):
    assert tokenizer.get_vocab_size() == VOCABULARY
    assert sorted(tokenizer.get_vocab().values()) == list(range(VOCABULARY))
    for character in CHARACTERS:
        assert len(tokenizer.encode(character).ids) == 1, character
    for a in range(100):
        for operator in "+-*/":
            for text in (f"{a:02}{operator}85=", f"{a} {operator} 7 = ", f"{a:03}{operator}{a:03}=?",
                         f"({a}{operator}1){operator}2="):
                assert len(tokenizer.encode(text).ids) == len(text), text


def config(ids):
    return {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 128,
        "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4,
        "intermediate_size": 512, "hidden_act": "silu", "vocab_size": VOCABULARY,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
        "attention_dropout": 0.0, "initializer_range": 0.05, "use_sliding_window": False,
        "tie_word_embeddings": True, "torch_dtype": "float32", "bos_token_id": ids["<|endoftext|>"],
        "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|pad|>"],
    }


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "inputs/model-small"
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = build()
    check(tokenizer)
    write_json(directory / "tokenizer.json", json.loads(tokenizer.to_str()))
    write_json(directory / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>", "eos_token": "<|im_end|>",
        "pad_token": "<|pad|>", "model_max_length": 2048, "clean_up_tokenization_spaces": False})
    write_json(directory / "config.json", config({s: tokenizer.token_to_id(s) for s in SPECIAL}))


if __name__ == "__main__":
    main()
