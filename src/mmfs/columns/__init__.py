"""Standardised columns of any source."""

from mmfs.columns.base import Columns
from mmfs.columns.distinct import fingerprint_vectors, near_another, repeated, representatives
from mmfs.columns.fetched import Block, DenseBlock, SparseBlock
from mmfs.columns.standardise import Adjustment, Facts, correlation

__all__ = [
    "Adjustment",
    "Block",
    "Columns",
    "DenseBlock",
    "Facts",
    "SparseBlock",
    "correlation",
    "fingerprint_vectors",
    "near_another",
    "repeated",
    "representatives",
]
