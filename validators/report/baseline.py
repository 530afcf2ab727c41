"""Comparison with an earlier report: which findings are new, which are fixed, which are still there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.text import counted

_FINDINGS = frozenset({"fail", "error", "warn"})


def read(path: Path) -> Mapping[str, Any]:
    """The document of an earlier run.

    Raises:
        InvalidInput: the file cannot be read, or is not a report of kfv.report/v1.
    """
    needed = "the JSON file of an earlier run, such as reports/latest.json."
    try:
        document: Mapping[str, Any] = read_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput.problem(
            f"the earlier report {path} cannot be read: {error.strerror}.", needed, "correct --baseline."
        ) from error
    except ValueError as error:
        raise InvalidInput.problem(f"{path} is not JSON: {error}.", needed, "correct --baseline.") from error
    schema = read_json(
        (files("kubeflow_volcano.validators") / "schemas" / "report.v1.json").read_text(encoding="utf-8")
    )
    wrong = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda error: error.json_path)
    if wrong:
        where = f"{wrong[0].json_path}: {wrong[0].message[:200]}"
        raise InvalidInput.problem(
            f"{path} is not a report of kfv.report/v1: {counted(len(wrong), 'error')}, first {where}.",
            needed,
            "correct --baseline.",
        )
    return document


def compare(before: Mapping[str, Any], checks: list[dict[str, Any]], cluster_uid: str) -> dict[str, Any]:
    """What became of each finding (fail, error or warn) since the earlier run.

    `fixed` are findings whose check passes now; `unjudged` are those whose check was skipped or not selected this time,
    so that their state is unknown. `same_cluster` is null where a run could not read the cluster's UID.
    """
    then = {item["id"]: item for item in before["checks"]}
    now = {item["id"]: item for item in checks}
    changes: dict[str, list[dict[str, Any]]] = {key: [] for key in ("new", "fixed", "still", "unjudged")}
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
        changes[kind].append({"id": id_, "slug": known["slug"], "title": known["title"], "before": was, "now": is_})
    uids = (before["cluster"]["uid"], cluster_uid)
    return {
        "run": before["run"]["id"],
        "started": before["run"]["started"],
        "verdict": before["summary"]["verdict"],
        "same_cluster": uids[0] == uids[1] if all(uids) else None,
        **changes,
    }
