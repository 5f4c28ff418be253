"""The same task, K features that are relevant together, by peers."""

import contextlib
import io
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.accuracy.methods import fastcan, hsic_lasso, mrmrs
from benchmarks.speed.cases import Case, make
from benchmarks.speed.timing import Contender, Unable, in_turns, row
from mmfs import MMFS

PART = "tasks"
DATA = ["dense, 1,000 x 20,000", "dense, 100 x 50,000", "leukemia", "mnist_3v8", "news20", "enron"]
AND = ", K = "
CASES = [f"{name}{AND}{k}" for name in DATA for k in (10, 100)]


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    warnings.simplefilter("ignore")
    name, k = name.split(AND)
    case = make(name, folder, quick)
    contenders: dict[str, Contender] = {}
    for peer, (select, sparse) in PEERS.items():
        if case.sparse and not sparse:
            contenders[peer] = Unable("dense data only")
        else:
            contenders[peer] = partial(select, case.X, case.y, int(k))
    out = []
    turns = 2 if quick else 3
    for peer, timed in in_turns(contenders, turns, patience=10, limit=30).items():
        quality = {"features": "", "found": "", "accuracy": ""}
        if not isinstance(timed, Unable) and len(timed.result):
            quality = _quality(case, np.asarray(timed.result))
        out.append(row(name, peer, timed, K=k, **quality))
    return out


def _quality(case: Case, J) -> dict:
    found = f"{np.isin(case.signals, J).mean():.2f}" if len(case.signals) else ""
    X = case.X[:, J]
    X = X.toarray() if sp.issparse(X) else X
    some = np.random.default_rng(0).permutation(len(case.y))[:5_000]
    svm = make_pipeline(StandardScaler(), LinearSVC(dual="auto"))
    share = cross_val_score(svm, X[some], case.y[some], cv=5).mean()
    return {"features": len(J), "found": found, "accuracy": f"{100 * share:.1f}"}


def _ours(X, y, k):
    return MMFS(k).fit(X, y).indices_


def _l1_svm(X, y, k):
    svm = LinearSVC(penalty="l1", dual=False, C=0.1, max_iter=200)
    return SelectFromModel(svm, max_features=k, threshold=-np.inf).fit(X, y).get_support(True)


def _abess(X, y, k):
    from abess import LogisticRegression

    return np.flatnonzero(np.ravel(LogisticRegression(support_size=k).fit(X, y).coef_))


def _mrmr_selection(X, y, k):
    import pandas
    from mrmr import mrmr_classif

    frame = pandas.DataFrame(X)
    return mrmr_classif(X=frame, y=pandas.Series(y), K=k, show_progress=False, n_jobs=1)


def _feature_engine(X, y, k):
    import pandas
    from feature_engine.selection import MRMR

    frame = pandas.DataFrame(X, columns=[str(j) for j in range(X.shape[1])])
    model = MRMR(method="FCD", max_features=k, regression=False).fit(frame, pandas.Series(y))
    return np.array([int(j) for j in frame.columns if j not in set(model.features_to_drop_)])


def _quiet(select):
    def run(X, y, k):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return select(X, y, k, True)

    return run


# Each with whether it takes sparse data.
PEERS = {
    "MMFS": (_ours, True),
    "SelectFromModel(L1 LinearSVC)": (_l1_svm, True),
    "abess": (_abess, True),
    "fastcan": (_quiet(fastcan), False),
    "mrmrs": (_quiet(mrmrs), False),
    "mrmr-selection": (_mrmr_selection, False),
    "feature-engine": (_feature_engine, False),
    "pyHSICLasso": (_quiet(hsic_lasso), False),
}
