"""Token ids that are the same for every engine in the comparison (make_prompt in engine_setup.cpp)."""

FIRST = 100  # the first ids of a vocabulary are often special tokens


def make_prompt(index, tokens, vocab_size):
    return [FIRST + ((index + 1) * 7919 + t * 104729 + t * t * 31) % (vocab_size - FIRST) for t in range(tokens)]
