"""The texts of a report document in the language of the report. The document itself, and its JSON, stay English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.validators.language.speaking import is_english, paragraphs, translated

_Data = Mapping[str, Any]


def in_words(document: _Data) -> _Data:
    """The document of one run with everything that people read in the language of the report."""
    if is_english():
        return document
    run, cleanup, baseline = document["run"], document["cleanup"], document["baseline"]
    return {
        **document,
        "run": {**run, **_texts(run, "release_from", "gang_scheduler_from", "rollout_problems")},
        "checks": [_check(item) for item in document["checks"]],
        "baseline": baseline and {**baseline, **{key: _titled(baseline[key]) for key in _CHANGES}},
        "conformance": [
            {**item, **_texts(item, "title", "status"), "cases": [_case(case) for case in item["cases"]]}
            for item in document["conformance"]
        ],
        "cleanup": {**cleanup, "left": [{**item, **_texts(item, "why")} for item in cleanup["left"]]},
    }


def in_words_of_clusters(document: _Data) -> _Data:
    """The same of the document of several clusters."""
    if is_english():
        return document
    return {
        **document,
        "clusters": [{**item, **_texts(item, "problems")} for item in document["clusters"]],
        "attention": [
            {
                **row,
                **_texts(row, "message", "expected"),
                "checks": _titled(row["checks"]),
                "remediation": _remediation(row["remediation"]),
            }
            for row in document["attention"]
        ],
        "checks": _titled(document["checks"]),
    }


_CHANGES = ("new", "fixed", "still", "unjudged")


def _check(item: _Data) -> _Data:
    observed = dict(item["observed"])
    for key, words in (("findings", "found"), ("controls", "title")):
        if rows := observed.get(key):
            observed[key] = [{**row, **_texts(row, words)} for row in rows]
    waived = item["waived"]
    return {
        **item,
        **_texts(item, "title", "message", "expected"),
        "observed": observed,
        "waived": waived and {**waived, **_texts(waived, "message")},
        "remediation": _remediation(item["remediation"]),
        "findings": [{**row, **_texts(row, "found", "owners", "todo")} for row in item.get("findings", ())],
    }


def _remediation(remediation: _Data) -> _Data:
    about = remediation.get("about")
    return {
        **remediation,
        **_texts(remediation, "text"),
        **({"about": paragraphs(about)} if about else {}),
    }


def _case(case: _Data) -> _Data:
    return {**case, **_texts(case, "case", "claim", "status")}


def _titled(rows: Sequence[_Data]) -> list[_Data]:
    return [{**row, **_texts(row, "title")} for row in rows]


def _texts(item: _Data, *keys: str) -> dict[str, Any]:
    """The texts under these keys, as far as they exist; lists of texts, too."""
    return {
        key: translated(item[key]) if isinstance(item[key], str) else [translated(text) for text in item[key]]
        for key in keys
        if key in item
    }
