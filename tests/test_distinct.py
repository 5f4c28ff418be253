import numpy as np

from mmfs.base import first_scan


def repeated(X, mirrors=False, r=None, center=True):
    data = first_scan(X, np.arange(len(X)) % 2, "auto", center)
    r = np.zeros(X.shape[1]) if r is None else r
    return np.flatnonzero(data.repeated(r, mirrors)).tolist()


def example():
    X = np.random.default_rng(0).standard_normal((50, 12))
    X[:, 3] = X[:, 8]  # the copy comes first: 8 repeats 3
    X[:, 9] = 1.8 * X[:, 8] + 32  # another unit
    X[:, 5] = -X[:, 2]
    X[:, [6, 7]] = 1.0  # constants are not each other's copies
    return X


def test_copies_in_any_unit_repeat_the_first():
    assert repeated(example()) == [8, 9]


def test_mirror_images_repeat_only_where_asked():
    assert repeated(example(), mirrors=True) == [5, 8, 9]


def test_the_most_relevant_of_the_same_columns_stands_for_them():
    r = np.zeros(12)
    r[[8, 9]] = 0.1
    assert repeated(example(), r=r) == [3, 9]


def test_without_centring_an_offset_makes_another_column():
    X = np.zeros((8, 3))
    X[:4, 0] = 1
    X[:, 1] = 1 - X[:, 0]  # orthogonal to it, and its mirror image only when centred
    X[:, 2] = 3 * X[:, 0]
    assert repeated(X, mirrors=True, center=True) == [1, 2]
    assert repeated(X, mirrors=True, center=False) == [2]


def test_many_sparse_patterns_are_told_apart_exactly():
    """Columns with one or two ones: equal patterns are found, others never confused."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 60, size=(3000, 2))
    X = np.zeros((60, 3000))
    X[pairs[:, 0], np.arange(3000)] = 1
    X[pairs[:, 1], np.arange(3000)] = 1
    seen, expected = set(), []
    for j, (a, b) in enumerate(pairs):
        key = frozenset((a, b))
        if key in seen:
            expected.append(j)
        seen.add(key)
    assert repeated(X) == expected
