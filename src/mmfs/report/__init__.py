"""What was done and found, as a record and as a page."""

from mmfs.report.page import comparison_page, selection_page
from mmfs.report.record import (
    HIGHER,
    as_json,
    in_words,
    record_of,
    selection_record,
    shown,
)

__all__ = [
    "HIGHER",
    "as_json",
    "comparison_page",
    "in_words",
    "record_of",
    "selection_page",
    "selection_record",
    "shown",
]
