"""A judgement as a document (`kfv.manifests/v1`), and that document as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.validators.core.safe import safe
from kubeflow_volcano.validators.explain.manifest.model import Judged, Judgement
from kubeflow_volcano.validators.explain.rendering import (
    finding_document,
    finding_lines,
    object_document,
    unread_documents,
    unread_lines,
)
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, say, speaking


def document(judgement: Judgement) -> Mapping[str, Any]:
    """The judgement as schemas/manifests.v1.json describes it, without secrets and control characters."""
    return {
        "schema": "kfv.manifests/v1",
        "cluster": safe(judgement.cluster) or None,
        "blocked": judgement.blocked,
        "manifests": [safe(_judged(item)) for item in judgement.manifests],
        "unread": unread_documents(judgement.unread),
    }


def _judged(item: Judged) -> dict[str, Any]:
    manifest = item.manifest
    return {
        "file": manifest.origin,
        "document": manifest.number,
        "object": object_document(manifest.ref),
        "findings": [finding_document(each) for each in item.findings],
        "corrected": [finding_document(each) for each in item.corrected],
    }


def render(judgement: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The document as text: one paragraph for each manifest with findings, then what could not be judged."""
    with speaking(language):
        return "\n".join([*_head(judgement), *_manifests(judgement), *_rest(judgement)]) + "\n"


def _head(judgement: Mapping[str, Any]) -> Iterator[str]:
    manifests = judgement["manifests"]
    findings = [each for item in manifests for each in item["findings"]]
    flaws = sum(each["blocks"] for each in findings)
    cluster = judgement["cluster"]
    where = say("against {cluster}", cluster=cluster) if cluster else say("without a cluster")
    notes = f"{say(', ')}{counted(len(findings) - flaws, 'note')}" if len(findings) > flaws else ""
    corrected = sum(len(item["corrected"]) for item in manifests)
    after = say("{flaws} corrected, ", flaws=counted(corrected, "flaw")) if corrected else ""
    yield say(
        "{manifests} judged {where}: {corrected}{flaws}{notes}.",
        manifests=counted(len(manifests), "manifest"),
        where=where,
        corrected=after,
        flaws=counted(flaws, "flaw"),
        notes=notes,
    )


def _manifests(judgement: Mapping[str, Any]) -> Iterator[str]:
    for item in judgement["manifests"]:
        if item["findings"] or item["corrected"]:
            ref = item["object"]
            name = f"{ref['namespace']}/{ref['name']}" if ref["namespace"] else ref["name"]
            yield ""
            place = say("{file}, document {number}", file=item["file"], number=item["document"])
            yield f"{place}{say(': ')}{ref['kind']} {name}"
            if item["corrected"]:
                yield say("corrected: {reasons}", reasons=", ".join(each["reason"] for each in item["corrected"]))
            yield from finding_lines(item["findings"])


def _rest(judgement: Mapping[str, Any]) -> Iterator[str]:
    if judgement["unread"]:
        yield ""
        yield say("Not judged:")
        yield from unread_lines(judgement["unread"])
