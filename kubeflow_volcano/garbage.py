"""Python's search for garbage, and when it only costs time."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["uncollected"]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without searches for garbage: parsing makes a million objects and no circle, and looking takes half of its time.

    What stands at the end is not looked through later either; it still goes when nobody holds it any more.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
