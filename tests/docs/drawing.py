"""Text of a terminal as SVG, in the fonts of whoever looks at it."""

from __future__ import annotations

from xml.sax.saxutils import escape

from rich.cells import cell_len

_CHARACTER, _LINE, _EDGE = 8.4, 19, 16


def drawn(command: str, text: str) -> str:
    """Return a picture of a command and what it printed."""
    lines = [f"$ {command}", "", *text.rstrip("\n").split("\n")]
    width = round(max(map(cell_len, lines)) * _CHARACTER) + 2 * _EDGE
    height = len(lines) * _LINE + 2 * _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#1b2130"/>',
    ]
    for number, line in enumerate(lines):
        at = _EDGE + (number + 1) * _LINE - 5
        colour = "#8ab4f8" if number == 0 else "#e6e9ef"
        if line:
            parts.append(
                f'<text x="{_EDGE}" y="{at}" fill="{colour}" xml:space="preserve" '
                f'textLength="{cell_len(line) * _CHARACTER:.1f}">{escape(line)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])
