"""Standardised columns of any source."""

from mmfs.columns.base import Columns
from mmfs.columns.fetched import Block, DenseBlock, SparseBlock
from mmfs.columns.standardise import Adjustment, Facts

__all__ = ["Adjustment", "Block", "Columns", "DenseBlock", "Facts", "SparseBlock"]
