"""Warnings that point to the line that called us, however deep we are."""

import sys
import warnings


class ChanceWarning(UserWarning):
    """Nothing that was selected is more relevant than chance explains."""


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].startswith("mmfs."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
