"""Image references, as far as their versions go."""

from __future__ import annotations

__all__ = ["tag_of"]


def tag_of(image: str) -> str:
    """Tag of an image reference, without its digest; empty where it has none."""
    name = image.partition("@")[0]
    return name.rpartition(":")[2] if ":" in name.rpartition("/")[2] else ""
