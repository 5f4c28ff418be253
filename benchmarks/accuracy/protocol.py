"""How accuracy is measured: as in the paper, and beside it without a look at the test data.

Columns are brought to zero mean and unit variance by the training rows alone (sparse web and mail
data to unit variance). A method selects from the training rows; a linear SVM with squared hinge
loss, C = 1 and no intercept, as liblinear trains it by default, is judged on the others. (With more
than 1,000 rows, liblinear's primal solver at its default tolerance: the same problem, sooner.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.datasets import load

EVERY, FEW = tuple(range(2, 101)), (2, *range(5, 101, 5))
WIDE = (5, *range(10, 201, 10))
MANY = 1_000
NESTED = (2, 5, 10, 20, 50, 100, 200)  # numbers among which an inner cross-validation chooses


@dataclass(frozen=True)
class Task:
    """A data set with its splits, the numbers of features, and the paper's set it stands for."""

    name: str
    paper: str
    split: str  # "leave one out", "given", or a number of random splits, one fifth for testing
    numbers: tuple[int, ...]
    center: bool = True
    tfidf: bool = False

    def fold(self, X, y, train, test) -> "Fold":
        return Fold(X, y, train, test, self.center, self.tfidf)


TASKS = [
    Task("leukemia", "Leukemia", "leave one out", EVERY),
    Task("raoa_gse55457", "RAOA", "leave one out", EVERY),
    Task("rac_gse55457", "RAC", "leave one out", EVERY),
    Task("mnist_3v8", "MNIST", "given", EVERY),
    Task("news20", "REAL-SIM", "10 random", FEW, tfidf=True),
    Task("enron", "Webspam", "3 random", WIDE, center=False),
]


@lru_cache(maxsize=2)
def data_of(task: Task, folder: Path):
    data = load(task.name, folder, download=False)
    return data.X, data.y, data.split


def folds_of(task: Task, folder: Path, share: float = 1.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows; of many folds, a share."""
    X, y, split = data_of(task, folder)
    rows = np.arange(len(y))
    if task.split == "given":
        return [(rows[split == 0], rows[split == 1])]
    if task.split == "leave one out":
        folds = [(np.delete(rows, i), rows[i : i + 1]) for i in rows]
    else:
        n_splits = int(task.split.split()[0])
        folds = list(ShuffleSplit(n_splits, test_size=0.2, random_state=0).split(X, y))
    return folds[:: max(1, round(1 / share))]


class Fold:
    """Standardised training rows to select from, and the judge of what was selected.

    With `tfidf`, counts of words become tf-idf in rows of unit length first.
    """

    def __init__(self, X, y, train, test, center=True, tfidf=False):
        X_train, self._test, self._center = X[train], X[test], center
        self.y, self._y_test = y[train], y[test]
        if tfidf:
            weigh = TfidfTransformer().fit(X_train)
            X_train, self._test = weigh.transform(X_train), weigh.transform(self._test)
            X_train, self._test = sp.csr_array(X_train), sp.csr_array(self._test)
        self._scaler = StandardScaler(with_mean=not sp.issparse(X)).fit(X_train)
        self.X = self._scaler.transform(X_train)
        if sp.issparse(X):
            self.X = sp.csc_array(self.X)
        self._known: dict[tuple, int] = {}

    def correct(self, J) -> int:
        """Test rows that are classified rightly by the columns J."""
        J = tuple(np.sort(J).tolist())
        if J not in self._known:
            X, T = _dense(self.X[:, J]), _dense(self._test[:, J])
            if sp.issparse(self.X):
                T = T / self._scaler.scale_[list(J)]
                shift = X.mean(axis=0) if self._center else 0.0
                X, T = X - shift, T - shift
            else:
                T = (T - self._scaler.mean_[list(J)]) / self._scaler.scale_[list(J)]
            many = len(X) > MANY
            svm = LinearSVC(C=1.0, fit_intercept=False, dual=not many, tol=0.01 if many else 0.1,
                            random_state=0)  # fmt: skip
            self._known[J] = int((svm.fit(X, self.y).predict(T) == self._y_test).sum())
        return self._known[J]

    def inner(self) -> Iterator["Fold"]:
        """Five folds of the training rows."""
        n_folds = max(2, min(5, int(np.unique(self.y, return_counts=True)[1].min())))
        split = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        X = self.X.tocsr() if sp.issparse(self.X) else self.X
        for train, test in split.split(X, self.y):
            yield Fold(X, self.y, train, test, self._center)

    @property
    def n_test(self) -> int:
        return len(self._y_test)


def _dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)
