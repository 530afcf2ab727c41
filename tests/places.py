"""Where the checkout lies, and the upstream manifests beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
UPSTREAM = ROOT.parent / "shared" / "upstream"
"""Real manifests; a fresh clone elsewhere does not have them."""
