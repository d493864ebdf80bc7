"""How results look in HTML, in a notebook as in a page of their own: one style, in which colours are classes."""

import base64
import hashlib
import html
from functools import cache
from pathlib import Path

SHADES = 8  # of each of the two colours


@cache
def css() -> str:
    """The style; `s1` to `s8` and `t1` to `t8` are shades of the source and the target domain."""
    shades = [
        f".masker {where}.{name[0]}{k} {{ background: "
        f"color-mix(in srgb, var(--{name}) {most * k // SHADES}%, {other}); }}"
        for where, most, other in (("", 42, "transparent"), (".grid ", 75, "var(--faint)"))
        for name in ("source", "target")
        for k in range(1, SHADES + 1)
    ]
    return Path(__file__).with_name("explained.css").read_text("utf-8") + "\n".join(shades)


def shade(value: float, strongest: float) -> str:
    """The class for a number: that of the source domain if it is negative; none for what is next to nothing."""
    k = round(SHADES * min(1.0, abs(value) / strongest))
    return f"{'t' if value > 0 else 's'}{k}" if k else ""


def in_notebook(body: str) -> str:
    """A part of a page that brings its style."""
    return f'<div class="masker"><style>{css()}</style>{body}</div>'


def whole_page(title: str, body: str) -> str:
    """A page that loads nothing, runs nothing and sends nothing: its policy allows its own style alone."""
    style = css()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title>'
        f'<style>{style}</style></head>\n<body class="masker">{body}</body></html>\n'
    )
