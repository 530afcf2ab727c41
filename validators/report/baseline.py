"""Comparison with an earlier report: which findings are new, which are gone, which are still there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["compare", "read"]

_FINDINGS = frozenset({"fail", "error", "warn"})


def read(path: Path) -> Mapping[str, Any]:
    """The document of an earlier run.

    Raises:
        InvalidInput: there is no such file, or it is no report of this kind.
    """
    needed = "the JSON file of an earlier run, such as reports/latest.json."
    try:
        document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(
            Problem(f"the earlier report {path} cannot be read: {error.strerror}.", needed, "correct --baseline.")
        ) from error
    except ValueError as error:
        raise InvalidInput(Problem(f"{path} is not JSON: {error}.", needed, "correct --baseline.")) from error
    schema = json.loads((files("validators") / "schemas" / "report.v1.json").read_text(encoding="utf-8"))
    wrong = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda error: error.json_path)
    if wrong:
        where = f"{wrong[0].json_path}: {wrong[0].message[:200]}"
        raise InvalidInput(
            Problem(f"{path} is no report of this kind: {len(wrong)} faults, the first {where}.", needed, "name one.")
        )
    return document


def compare(before: Mapping[str, Any], checks: list[dict[str, Any]], cluster_uid: str) -> dict[str, Any]:
    """What became of each finding (fail, error or warn) between the two runs.

    `fixed` are findings whose check passes now. One whose check was skipped this time or not chosen is `unjudged`:
    nobody knows whether it is gone. `same_cluster` is null where one of the runs did not learn whose cluster it was.
    """
    then = {item["id"]: item for item in before["checks"]}
    now = {item["id"]: item for item in checks}
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in ("new", "fixed", "still", "unjudged")}
    for id_ in (*now, *(id_ for id_ in then if id_ not in now)):
        old, new = then.get(id_), now.get(id_)
        was, is_ = (item["status"] if item else None for item in (old, new))
        if is_ in _FINDINGS:
            kind = "still" if was in _FINDINGS else "new"
        elif was in _FINDINGS:
            kind = "fixed" if is_ == "pass" else "unjudged"
        else:
            continue
        known: Mapping[str, Any] = new or old or {}
        found[kind].append({"id": id_, "slug": known["slug"], "title": known["title"], "before": was, "now": is_})
    uids = (before["cluster"]["uid"], cluster_uid)
    return {
        "run": before["run"]["id"],
        "started": before["run"]["started"],
        "verdict": before["summary"]["verdict"],
        "same_cluster": uids[0] == uids[1] if all(uids) else None,
        **found,
    }
