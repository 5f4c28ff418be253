"""Files: reading them into tables, and writing tables to them."""

from mmfs.io.formats import FORMATS, file_and_part, format_of, read_table, stage_table, write_table
from mmfs.io.outputs import Outputs
from mmfs.io.streams import FileProblem, Progress, checksum
from mmfs.io.svmlight import read_svmlight
from mmfs.io.table import Table

__all__ = [
    "FORMATS",
    "FileProblem",
    "Outputs",
    "Progress",
    "Table",
    "checksum",
    "file_and_part",
    "format_of",
    "read_svmlight",
    "read_table",
    "stage_table",
    "write_table",
]
