"""Information theory on one pair of discrete variables at a time, with dictionaries."""

from collections import Counter
from math import log, log2

import numpy as np


def entropy(a):
    return -sum(n / len(a) * log(n / len(a)) for n in Counter(a).values())


def mutual_information(a, b):
    a, b = list(a), list(b)
    return entropy(a) + entropy(b) - entropy(list(zip(a, b, strict=True)))


def symmetrical_uncertainty(a, b):
    total = entropy(list(a)) + entropy(list(b))
    return 2 * mutual_information(a, b) / total if total else 0.0


def three_states(x):
    deviation = x.std() * (1 - 1e-9)
    return (x > x.mean() - deviation).astype(int) + (x > x.mean() + deviation)


def equal_frequency(x, n):
    ordered = np.sort(x)
    cuts = [ordered[int(np.ceil(k * len(x) / n)) - 1] for k in range(1, n)]
    if (x < x.max()).any():  # a cut at the maximum separates nothing: just below it, then
        cuts = [min(cut, x[x < x.max()].max()) for cut in cuts]
    return sum((x > cut).astype(int) for cut in cuts)


def mdl(x, y):
    """States by recursive cutting; entropies in bits, as Fayyad and Irani write them."""

    def bits(labels):
        return entropy(list(labels)) / log(2)

    def cuts(values, labels):
        n, distinct = len(values), np.unique(values)
        if len(distinct) < 2:
            return []
        left = {c: labels[values <= c] for c in distinct[:-1]}
        right = {c: labels[values > c] for c in distinct[:-1]}
        rest = {
            c: (len(left[c]) * bits(left[c]) + len(right[c]) * bits(right[c])) / n for c in left
        }
        c = min(rest, key=lambda c: (round(rest[c], 12), c))
        gain = bits(labels) - rest[c]
        k, k1, k2 = (len(set(part)) for part in (labels, left[c], right[c]))
        delta = log2(3**k - 2) - (k * bits(labels) - k1 * bits(left[c]) - k2 * bits(right[c]))
        if gain <= (log2(n - 1) + delta) / n:
            return []
        below = values <= c
        return [*cuts(values[below], labels[below]), c, *cuts(values[~below], labels[~below])]

    return sum(((x > c).astype(int) for c in cuts(x, y)), np.zeros(len(x), dtype=int))
