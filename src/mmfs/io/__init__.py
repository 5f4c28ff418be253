"""Files: reading them into tables, and writing tables to them."""

from mmfs.io.csv import read_pairs
from mmfs.io.formats import FORMATS, STORE, format_of, stage_table, write_table
from mmfs.io.labels import file_and_part
from mmfs.io.outputs import Outputs
from mmfs.io.reading import Asked, read_table, unlabelled
from mmfs.io.store import convert_to_store, write_store
from mmfs.io.streams import FileProblem, checksum
from mmfs.io.svmlight import read_svmlight
from mmfs.io.table import Table, without_formula

__all__ = [
    "FORMATS",
    "STORE",
    "Asked",
    "FileProblem",
    "Outputs",
    "Table",
    "checksum",
    "convert_to_store",
    "file_and_part",
    "format_of",
    "read_pairs",
    "read_svmlight",
    "read_table",
    "stage_table",
    "unlabelled",
    "without_formula",
    "write_store",
    "write_table",
]
