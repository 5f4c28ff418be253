"""What all methods of comparison promise alike."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mmfs
from mmfs import FCBF, FGM, GDM, MRMR, QPFS, SVMRFE, MaxRel

ALL = [MaxRel(), MRMR(), FCBF(), QPFS(), FGM(), GDM(), SVMRFE()]
VARIANTS = [
    *ALL,
    MaxRel(0.5, relevance="mutual_info"),
    MaxRel(1, relevance="binned_mutual_info", n_jobs=2),
    MRMR(1, criterion="MIQ", discretize="equal_frequency"),
    MRMR(0.5, criterion="FCD"),
    MRMR(criterion="FCQ"),
    FCBF(delta="auto", discretize="mdl"),
    FCBF(1),
    QPFS(1, discretize="mdl"),
    QPFS(1, discretize="nonzero", nystrom=1.0),
    QPFS(similarity="correlation", theta=0.5),
    QPFS(nystrom=0.5),
    FGM(1, B=1, center=False),
    GDM(1, delta=0.5, max_rounds=3),
    SVMRFE(1, step=1),
    SVMRFE(step=0.5),
]


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore:the similarities are not positive semi-definite")
@pytest.mark.filterwarnings("ignore:discretize='.*' leaves every column of X with one state")
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
