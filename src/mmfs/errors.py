"""Sentences about bad input, with parameters that the command line calls by other names."""

from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter in a sentence, and the value that it has or should have, if that is said."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class InputError(ValueError):
    """What is wrong, where, what to do: text, and parameters, which the command line calls options.

    The parts follow each other without a space.
    """

    args: tuple[str | Parameter, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.args))
