"""What was done and found, as a record and as a page."""

from mmfs.report.page import comparison_page, selection_page
from mmfs.report.record import checksum, made_redundant, record_of, selection_record

__all__ = [
    "checksum",
    "comparison_page",
    "made_redundant",
    "record_of",
    "selection_page",
    "selection_record",
]
