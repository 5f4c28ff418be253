"""One thread for matrix products: on small tiles, threads would wait for each other.

On an idle machine they would gain little, and where another process keeps a core busy they take
two to three times as long. What is worth threads is done in threads of our own (`n_jobs`).
"""

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """A function during which BLAS has one thread; afterwards it has its own again.

    The number belongs to the process. So of functions that overlap the first alone sets it, and
    sets it back: another one would take 1 for what it has to be afterwards.
    """

    @wraps(function)
    def limited(*args: P.args, **how: P.kwargs) -> R:
        if not _alone.acquire(blocking=False):
            return function(*args, **how)
        try:
            with _libraries().limit(limits=1, user_api="blas"):
                return function(*args, **how)
        finally:
            _alone.release()

    return limited


_alone = Lock()


@cache
def _libraries() -> ThreadpoolController:
    """Looked for once: that takes milliseconds."""
    return ThreadpoolController()
