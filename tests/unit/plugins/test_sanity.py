"""What `python -m tests.sanity` needs is locked, and what it may not report has a reason."""

from __future__ import annotations

import re
from pathlib import Path

import ansible_test
from packaging.requirements import Requirement

from tests.places import ROOT
from tests.sanity.__main__ import CHOSEN

LOCK = (ROOT / "requirements" / "sanity.txt").read_text("utf-8")


def test_the_lock_has_the_packages_that_ansible_test_requires_of_the_chosen_tests() -> None:
    data = Path(ansible_test.__path__[0], "_data", "requirements")
    lists = [path for name in CHOSEN if (path := data / f"sanity.{name}.txt").exists()]
    assert lists
    required = {line.lower() for path in lists for line in path.read_text("utf-8").splitlines() if line[:1].isalpha()}
    found = [Requirement(line.rstrip(" \\")) for line in re.findall(r"(?m)^[a-z].*$", LOCK)]
    assert required <= {f"{item.name}{item.specifier}" for item in found if not item.marker or item.marker.evaluate()}


def test_every_line_that_ignores_a_finding_says_why() -> None:
    lines = (ROOT / "tests" / "sanity" / "ignore.txt").read_text("utf-8").splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"\S+ [\w-]+:[\w-]+ # \S.{10,}", line)] == []
