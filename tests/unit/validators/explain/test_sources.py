"""Each rule about jobs names the place in upstream's source that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT

CALL = re.compile(r"\byield (?:finding|flaw)\(|\breturn finding\(")
JUDGING = [path for path in sorted((ROOT / "validators/explain").rglob("*.py")) if CALL.search(path.read_text())]
JUDGING += sorted((ROOT / "validators/checks/volcano").glob("[a-z]*.py"))
PLACE = re.compile(r"\b(?:apiserver/)?pkg/|\bplugin/pkg/|\.go\b|\bcmd/|installer/|none of its own|those of \w+")
"""What a place in upstream's source looks like, or that a rule is another module's."""

VERSION = re.compile(r"\bv?1?\d\.\d+|none of its own|those of \w+")


@pytest.mark.parametrize("path", JUDGING, ids=lambda path: str(path.relative_to(ROOT / "validators")))
def test_a_module_with_findings_says_where_its_rules_come_from(path: Path) -> None:
    text = path.read_text()
    rules = re.search(r"\bRules?[:,].*?(?=\n\n|\"{3})", text[: text.index("from __future__")], re.DOTALL)
    assert rules, "no source"
    assert PLACE.search(rules[0]), rules[0]
    assert VERSION.search(rules[0]), rules[0]


def test_each_check_of_volcano_has_its_source_beside_it() -> None:
    """F1 in volcano.py and second.py, the others once."""
    for path in sorted((ROOT / "validators/checks/volcano").glob("[a-z]*.py")):
        text = path.read_text()
        rules = text[: text.index("from __future__")]
        for id_ in re.findall(r"@check\(\s*\"(F\d+)\"", text):
            assert re.search(rf"\b{id_}:", rules), id_
