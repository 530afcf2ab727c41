"""What needs attention, as groups with one cause."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.validators.report.summary import attention


def item(id_: str, reason: str = "Forbidden", status: str = "error") -> dict[str, Any]:
    return {"id": id_, "status": status, "reason": reason, "message": f"message of {id_}"}


def groups(*items: dict[str, Any]) -> list[list[str]]:
    return [[each["id"] for each in group] for group in attention({"checks": items})]


def test_what_lacks_rights_is_one_group_behind_the_check_of_rights() -> None:
    broken = item("F1", "CheckBroke"), item("F3", "Missing", "fail")
    assert groups(item("A1"), item("A2"), *broken, item("H1")) == [["F3"], ["A2", "A1", "H1"], ["F1"]]


def test_without_a_finding_about_rights_each_says_what_it_lacks() -> None:
    assert groups(item("A1"), item("A2", "", "pass"), item("H1")) == [["A1"], ["H1"]]
