"""svmlight text read slowly and obviously."""

from typing import NamedTuple

import numpy as np


class Refused(Exception):
    def __init__(self, line, token):
        super().__init__(line, token)
        self.line, self.token = line, token


class Read(NamedTuple):
    stored: list  # (row, column, value as an integer of bits)
    labels: np.ndarray
    queries: list


def number(text, line, token):
    try:
        if b"_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise Refused(line, token) from None


def whole(text, line, token):
    if not (text.isdigit() and len(text) <= 18):
        raise Refused(line, token)
    return int(text)


def read(text):
    """Rows of text; the first column has number 1 unless number 0 is used."""
    labels, queries, entries = [], [], []
    for line, raw in enumerate(text.split(b"\n"), start=1):
        words = raw.split(b"#")[0].split()
        if not words:
            continue
        row, previous, query = len(labels), -1, -1
        labels.append(number(words[0], line, words[0]))
        for i, word in enumerate(words[1:]):
            if word.startswith(b"qid:"):
                if i > 0 and any(not w.startswith(b"qid:") for w in words[1 : i + 1]):
                    raise Refused(line, word)
                query = whole(word[4:], line, word)
                continue
            column, colon, value = word.partition(b":")
            if not colon:
                raise Refused(line, word)
            j = whole(column, line, word)
            if j <= previous or j > 2**31 - 2:
                raise Refused(line, word)
            if not value:
                raise Refused(line, word)
            entries.append((row, j, number(value, line, word)))
            previous = j
        queries.append(query)
    shift = int(bool(entries) and min(j for _, j, _ in entries) > 0)
    stored = [(i, j - shift, np.float64(value).view(np.uint64)) for i, j, value in entries]
    return Read(stored, np.array(labels), queries)
