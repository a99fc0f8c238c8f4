"""Small charts as SVG: lines and stacked bars, readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle

COLOURS = ("#4269d0", "#efb118", "#3ca951", "#ff725c", "#a463f2", "#9c6b4e", "#97bbf5", "#9498a0")
_WIDTH, _LEFT, _RIGHT, _TOP = 720, 150, 30, 56
_GREY = "#767676"

Points = Sequence[tuple[float, float]]
"""Pairs of x and y, by x."""


def line_chart(title: str, axis: str, lines: Mapping[str, Points]) -> str:
    """Lines over a logarithmic x axis; y begins at zero."""
    left, bottom, height = 70, 330, 250
    points = [point for line in lines.values() for point in line]
    xs = sorted({x for x, _ in points})
    top = nice_end(max(y for _, y in points))
    low, high = math.log(xs[0]), math.log(xs[-1])

    def place(x: float, y: float) -> tuple[float, float]:
        share = (math.log(x) - low) / ((high - low) or 1)
        return left + share * (_WIDTH - left - _RIGHT), bottom - y / top * height

    parts = [_legend(lines, left)]
    for step in range(5):
        y = top * step / 4
        _, at = place(xs[0], y)
        parts.append(
            _rule(left, at, _WIDTH - _RIGHT, at) + _text(left - 8, at + 4, f"{y:g}", "end")
        )
    parts += [_text(place(x, 0)[0], bottom + 20, f"{x:,.0f}", "middle") for x in xs]
    parts.append(_text((left + _WIDTH) / 2, bottom + 42, axis, "middle"))
    for line, colour in zip(lines.values(), cycle(COLOURS), strict=False):
        corners = [place(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in corners]
    return _picture(title, bottom + 60, parts)


def bar_chart(title: str, unit: str, bars: Mapping[str, Mapping[str, float]]) -> str:
    """A bar for each name, made of parts that follow each other; the end says how long it is."""
    names = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    colours = dict(zip(names, cycle(COLOURS), strict=False))
    longest = max(sum(bar.values()) for bar in bars.values())
    scale = (_WIDTH - _LEFT - 110) / longest
    parts = [_legend(dict.fromkeys(names), 16)]
    for row, (name, bar) in enumerate(bars.items()):
        top, x = _TOP + 34 + row * 46, float(_LEFT)
        parts.append(_text(_LEFT - 10, top + 19, name, "end"))
        for part, value in bar.items():
            parts.append(
                f'<rect x="{x:.1f}" y="{top}" width="{value * scale:.1f}" height="28"'
                f' fill="{colours[part]}"><title>{escape(part)}: {value:.1f} {unit}</title></rect>'
            )
            x += value * scale
        parts.append(_text(x + 8, top + 19, f"{sum(bar.values()):.1f} {unit}", "start"))
    return _picture(title, _TOP + 50 + 46 * len(bars), parts)


def nice_end(value: float) -> float:
    """The least of 1, 2, 4, 6, 8 or 10 times a power of ten that is not below the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value)


def _legend(names: Mapping[str, object], left: float) -> str:
    """The colours with their names, in as many rows as it takes."""
    parts, x, y = list[str](), left, _TOP
    for name, colour in zip(names, cycle(COLOURS), strict=False):
        width = 34 + 6.6 * len(name)
        if x + width > _WIDTH:
            x, y = left, y + 20
        parts.append(f'<rect x="{x:.0f}" y="{y - 12}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(x + 17, y - 1, name, "start"))
        x += width
    return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _rule(x: float, y: float, to_x: float, to_y: float) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{_GREY}" stroke-opacity="0.35"/>'


def _picture(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}"'
        f' font-family="sans-serif" font-size="13" fill="{_GREY}" role="img">'
    )
    name = f"<title>{escape(title)}</title>"
    heading = f'<text x="16" y="26" font-size="16" font-weight="bold">{escape(title)}</text>'
    return "\n".join([head, name, heading, *parts, "</svg>", ""])
