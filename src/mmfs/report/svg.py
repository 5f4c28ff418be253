"""Plots as SVG that takes its colours from the page it is on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup, escape

Array = np.ndarray

WIDTH, HEIGHT = 560, 380
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 44
ENLARGED = 1.3  # times its own size, at which a drawing is shown


def element(name: str, *inside: Any, **attributes: Any) -> Markup:
    """An SVG element; whatever is not markup already is escaped."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    content = "".join(escape(part) for part in inside)
    return Markup(f"<{name}{pairs}>{content}</{name}>")


def _short(value: Any) -> Any:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


class Axis:
    """From values to pixels."""

    def __init__(
        self, values: Any, start: float, stop: float, log: bool = False, flip: bool = False
    ) -> None:
        values = np.asarray(values, dtype=float)
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        if log:
            low, high = np.log10(low), np.log10(high)
        room = 0.04 * (high - low)
        if room <= 1e-9 * max(abs(low), abs(high)):  # all the same
            room = 0.5 * max(abs(high), 1e-9)
        self.log, self._low, self._high = log, low - room, high + room
        if flip:
            self._low, self._high = self._high, self._low
        self._start, self._stop = start, stop

    def __call__(self, value: Any) -> Any:
        value = np.log10(value) if self.log else np.asarray(value, dtype=float)
        share = (value - self._low) / (self._high - self._low)
        return self._start + share * (self._stop - self._start)

    def ticks(self) -> list[tuple[float, str]]:
        low, high = sorted((self._low, self._high))
        if self.log:
            values = [m * 10.0**p for p in range(-12, 13) for m in (1, 2, 5)]
            values = [v for v in values if low <= np.log10(v) <= high]
            values = [v for v in values if len(values) <= 8 or f"{v:e}".startswith("1.0")]
        else:
            step = 10.0 ** np.floor(np.log10((high - low) / 4))
            step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 6)
            first, last = int(np.ceil(low / step)), int(np.floor(high / step))
            values = [i * step for i in range(first, last + 1)]
        return [(value, f"{value:.6g}") for value in values]


class Plot:
    """Axes with things drawn on them."""

    def __init__(self, x: Axis, y: Axis, x_label: str, y_label: str, title: str) -> None:
        self.x, self.y, self._title = x, y, title
        self._parts: list[Markup] = []
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for value, text in x.ticks():
            at = float(x(value))
            self._add("line", x1=at, x2=at, y1=TOP, y2=bottom, class_="grid")
            self._add("text", text, x=at, y=bottom + 16, class_="tick middle")
        for value, text in y.ticks():
            at = float(y(value))
            self._add("line", x1=LEFT, x2=right, y1=at, y2=at, class_="grid")
            self._add("text", text, x=LEFT - 6, y=at + 4, class_="tick end")
        self._add("text", x_label, x=(LEFT + right) / 2, y=HEIGHT - 8, class_="label middle")
        middle = (TOP + bottom) / 2
        self._add(
            "text", y_label, x=14, y=middle, class_="label middle",
            transform=f"rotate(-90 14 {middle})",
        )  # fmt: skip

    def _add(self, name: str, *inside: Any, **attributes: Any) -> None:
        self._parts.append(element(name, *inside, **attributes))

    def point(self, x: float, y: float, radius: float, kind: str, title: str) -> None:
        at = {"cx": float(self.x(x)), "cy": float(self.y(y))}
        self._add("circle", element("title", title), r=float(radius), class_=kind, **at)

    def line(self, x: Any, y: Any, kind: str, title: str) -> None:
        pairs = zip(np.atleast_1d(self.x(x)), np.atleast_1d(self.y(y)), strict=True)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
        self._add("polyline", element("title", title), points=points, class_=kind)

    def band(self, x: Any, low: Any, high: Any, kind: str) -> None:
        ends = np.concatenate([self.x(x), self.x(x)[::-1]])
        values = np.concatenate([self.y(low), self.y(high)[::-1]])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(ends, values, strict=True))
        self._add("polygon", points=points, class_=kind)

    def note(self, x: float, y: float, text: str) -> None:
        at, height = float(self.x(x)), float(self.y(y))
        if at > 0.75 * WIDTH:
            self._add("text", text, x=at - 9, y=height + 4, class_="note end")
        else:
            self._add("text", text, x=at + 9, y=height + 4, class_="note")

    def svg(self) -> Markup:
        return drawing(WIDTH, HEIGHT, self._title, self._parts)


def drawing(width: float, height: float, title: str, parts: Sequence[Markup]) -> Markup:
    box, style = f"0 0 {width:.0f} {height:.0f}", f"max-width: {ENLARGED * width:.0f}px"
    kind = "plot" if width >= WIDTH / 2 else "plot small"
    return element(
        "svg", *parts, viewBox=box, role="img", aria_label=title, class_=kind, style=style
    )


def plot_axes(x: Any, y: Any, *, log_x: bool = False, flip_x: bool = False) -> tuple[Axis, Axis]:
    return (
        Axis(x, LEFT, WIDTH - RIGHT, log=log_x, flip=flip_x),
        Axis(y, HEIGHT - BOTTOM, TOP),
    )


def heat_map(names: list[str], values: Array, n_first: int, title: str) -> Markup:
    """Squares whose colour tells a value from -1 to 1; a gap after the first few."""
    cell, gap, longest = 20, 6, max(len(name) for name in names)
    margin = min(170, 20 + 6.4 * longest)

    def at(i: int) -> float:
        return margin + cell * i + (gap if i >= n_first else 0)

    parts = []
    for i, name in enumerate(names):
        short = name if len(name) <= 24 else name[:23] + "…"
        where = {"x": margin - 6, "y": at(i) + 14}
        parts.append(element("text", element("title", name), short, class_="tick end", **where))
        across = {"x": at(i) + 14, "y": margin - 6}
        turn = f"rotate(-90 {across['x']:.0f} {across['y']:.0f})"
        parts.append(
            element("text", element("title", name), short, class_="tick", transform=turn, **across)
        )
        for j, other in enumerate(names):
            value = float(np.clip(values[i, j], -1, 1))
            tip = element("title", f"{name} and {other}: {value:.2f}")
            kind = "hot" if value >= 0 else "cold"
            square = {"x": at(j), "y": at(i), "width": cell - 1, "height": cell - 1}
            strength = f"{abs(value):.3f}"
            parts.append(element("rect", tip, class_=kind, fill_opacity=strength, **square))
    size = at(len(names) - 1) + cell + 4
    return drawing(size, size, title, parts)
