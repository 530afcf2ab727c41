"""What all HTML pages have in common: templates that escape everything, and the parts that lie beside them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

import jinja2

__all__ = ["MARKS", "environment", "hashed", "source"]

MARKS = {"fail": "✗", "error": "?", "warn": "!", "pass": "✓", "skip": "-", "incomplete": "?"}
"""Sign of each status and verdict, so that none is told by its colour alone."""


def environment() -> jinja2.Environment:
    """Of templates by their file's name."""
    loader = jinja2.FunctionLoader(source)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def source(name: str) -> str:
    """Text of one part."""
    return (files("validators.report") / "page" / name).read_text(encoding="utf-8")


def hashed(text: str) -> str:
    """What a Content-Security-Policy calls the one style or script that it lets through."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
