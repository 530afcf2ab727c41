"""Each rule about jobs names the place in upstream's source that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT

CALL = re.compile(r"\byield (?:finding|flaw)\(|\breturn finding\(")
JUDGING = [path for path in sorted((ROOT / "validators/explain").rglob("*.py")) if CALL.search(path.read_text())]


@pytest.mark.parametrize("path", JUDGING, ids=lambda path: str(path.relative_to(ROOT / "validators/explain")))
def test_a_module_with_findings_says_where_its_rules_come_from(path: Path) -> None:
    assert re.search(r"\bRules?:", path.read_text())
