"""Standardised columns of any source."""

from mmfs.columns.base import Columns, most_relevant, products_alone
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
    "most_relevant",
    "products_alone",
]
