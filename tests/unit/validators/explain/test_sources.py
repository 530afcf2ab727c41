"""Each rule about jobs names the place in upstream's source that says so."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.validators.explain.manifest.judging import RULES
from kubeflow_volcano.validators.explain.stages import STAGES
from tests.places import ROOT

CALL = re.compile(r"\byield (?:finding|flaw)\(|\breturn finding\(")
JUDGING = [path for path in sorted((ROOT / "validators/explain").rglob("*.py")) if CALL.search(path.read_text())]
JUDGING += sorted((ROOT / "validators/checks/volcano").glob("[a-z]*.py"))
SOURCE = re.compile(r"\bRules?[:,].*?(?=\n\n|\"{3}|\Z)", re.DOTALL)
PLACE = re.compile(r"\b(?:apiserver/)?pkg/|\bplugin/pkg/|\.go\b|\bcmd/|installer/|none of its own|th(?:at|ose) of \w+")
"""What a place in upstream's source looks like, or that a rule is another one's."""

VERSION = re.compile(r"\bv?1?\d\.\d+|none of its own|th(?:at|ose) of \w+")
ALL: tuple[Callable[..., Any], ...] = (*STAGES, *RULES)
OF_MODULE = Counter(rule.__module__ for rule in ALL)


def has_source(text: str | None) -> bool:
    """Whether the first sentence about rules names a place and a version."""
    found = SOURCE.search(text or "")
    return bool(found and PLACE.search(found[0]) and VERSION.search(found[0]))


@pytest.mark.parametrize("path", JUDGING, ids=lambda path: str(path.relative_to(ROOT / "validators")))
def test_a_module_with_findings_says_where_its_rules_come_from(path: Path) -> None:
    assert has_source(path.read_text())


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: f"{rule.__module__.rpartition('.')[2]}.{rule.__name__}")
def test_a_rule_says_where_it_comes_from_or_is_the_only_one_of_its_module(rule: Callable[..., Any]) -> None:
    alone = OF_MODULE[rule.__module__] == 1
    assert has_source(rule.__doc__) or (alone and has_source(inspect.getmodule(rule).__doc__))


def test_each_check_of_volcano_has_its_source_beside_it() -> None:
    """F1 in volcano.py and second.py, the others once."""
    for path in sorted((ROOT / "validators/checks/volcano").glob("[a-z]*.py")):
        text = path.read_text()
        rules = text[: text.index("from __future__")]
        for id_ in re.findall(r"@check\(\s*\"(F\d+)\"", text):
            assert re.search(rf"\b{id_}:", rules), id_
