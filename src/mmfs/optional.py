"""Libraries that not everyone needs."""

import importlib
from typing import Any


def require(module: str, extra: str, what: str = "this kind of file") -> Any:
    """An optional library, or one sentence that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise ImportError(f"{what} needs {package}: pip install 'mmfs[{extra}]'.") from None
