"""Every pair of what data may bring works, or is refused in one sentence; and what others probe."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.combinations import BRINGS, OTHERS, outcome, table
from mmfs import MMFS

PAGE = Path(__file__).parents[1] / "docs" / "data.md"


@pytest.mark.slow
def test_every_pair_works_or_is_refused_in_a_sentence():
    pairs = [(a, b) for a in BRINGS for b in [*BRINGS, *OTHERS] if a != b]
    refused = [said for a, b in pairs if (said := outcome(a, b))]
    assert len(pairs) == 11 * (10 + 18)
    assert len(refused) < len(pairs) / 6
    for said in refused:
        assert "\n" not in said and len(said) < 200


@pytest.mark.slow
def test_the_page_has_todays_table():
    assert table() in PAGE.read_text()


@pytest.fixture(scope="module")
def probe():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 30))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(120) / 3, [-0.6, 0.6])
    return X, y


def multiclass(X, y):
    return set(MMFS(4).fit(X, y).indices_) >= {0, 1}


def string_y(X, y):
    names = np.array(["low", "middle", "high"])[y]
    return MMFS(4).fit(X, names).indices_.tolist() == MMFS(4).fit(X, y).indices_.tolist()


def pandas_in(X, y):
    frame = pd.DataFrame(X).add_prefix("g")
    return MMFS(4).fit(frame, pd.Series(y)).transform(frame).shape == (120, 4)


def polars_in(X, y):
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(30)])
    return MMFS(4).fit(frame, pl.Series(y)).transform(frame).shape == (120, 4)


def sparse(X, y):
    known = MMFS(4).fit(X, y).indices_.tolist()
    forms = (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array)
    return all(MMFS(4).fit(form(X), y).indices_.tolist() == known for form in forms)


def nan(X, y):
    X = X.copy()
    X[::5, 2] = np.nan
    return np.isnan(MMFS(30).fit(X, y).transform(X)).sum() == 24


def sample_weight(X, y):
    weights = np.arange(120) % 3
    rows = np.repeat(np.arange(120), weights)
    found = MMFS(4).fit(X, y, sample_weight=weights).indices_.tolist()
    return found == MMFS(4).fit(X[rows], y[rows]).indices_.tolist()


def clone_and_pipeline(X, y):
    return make_pipeline(clone(MMFS(4)), LogisticRegression()).fit(X, y).score(X, y) > 0.7


def get_support(X, y):
    return MMFS(4).fit(X, y).get_support().sum() == 4


def names_out(X, y):
    frame = pd.DataFrame(X).add_prefix("g")
    return {"g0", "g1"} <= set(MMFS(4).fit(frame, y).get_feature_names_out())


def set_output(X, y):
    frame = pd.DataFrame(X).add_prefix("g")
    out = MMFS(4).set_output(transform="pandas").fit(frame, y).transform(frame)
    other = MMFS(4).set_output(transform="polars").fit(frame, y).transform(frame)
    return list(out.columns) == other.columns


def pickled(X, y):
    selector = MMFS(4).fit(X, y)
    return np.array_equal(pickle.loads(pickle.dumps(selector)).transform(X), selector.transform(X))


def regression(X, y):
    return set(MMFS(4).fit(X, X[:, 5] + X[:, 9] / 2).indices_[:2]) == {5, 9}


PROBES = (
    multiclass, string_y, pandas_in, polars_in, sparse, nan, sample_weight, clone_and_pipeline,
    get_support, names_out, set_output, pickled, regression,
)  # fmt: skip


@pytest.mark.parametrize("probed", PROBES)
def test_what_selectors_are_expected_to_do(probed, probe):
    assert probed(*probe)
