"""The command `explain` for jobs: one that is on the cluster, or manifests of jobs that are not yet."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, odd_answers
from kubeflow_volcano.cluster.pods.quantities import is_positive
from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import Exit, InvalidInput, NotWritten, Unreachable
from kubeflow_volcano.text import print_for_programs
from kubeflow_volcano.validators.explain.manifest import documents
from kubeflow_volcano.validators.explain.manifest import rendering as manifest_rendering
from kubeflow_volcano.validators.explain.manifest.fixing import fix, joined
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import Judgement, Manifest
from kubeflow_volcano.validators.explain.manifest.rules.devices import CEL
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.rendering import document, render
from kubeflow_volcano.validators.explain.stages import explain
from kubeflow_volcano.validators.run.clusters import named

_OFFLINE = "NoCluster"
"""What --offline leaves unread on purpose."""
_AGENT = "kubeflow-volcano-explain"


def explain_job(parsed: argparse.Namespace, names: Sequence[str]) -> tuple[str, Exit]:
    """Explain one job: the text to print, and 1 where something blocks it, 3 where too little could be read.

    Raises:
        InvalidInput: not one job of one cluster, or it does not exist.
        Unreachable: the cluster does not answer, or the job cannot be read.
    """
    clusters = named(parsed.kubeconfig, parsed.context)
    if len(clusters) != 1 or len(names) != 1:
        found = f"jobs: {len(names)}, clusters: {len(clusters)}."
        raise InvalidInput.problem(found, "one job and one cluster: explain job NAMESPACE/NAME.", "run it for each.")
    namespace, _, name = names[0].rpartition("/")
    if not name or not namespace or "/" in namespace:
        raise InvalidInput.problem(f"the job {names[0]!r}.", "NAMESPACE/NAME.", "add or correct the namespace.")
    ((kubeconfig, context),) = clusters.values()
    cluster = Cluster.connect(kubeconfig, context, user_agent=_AGENT)
    try:
        with odd_answers("the job and what is around it"):
            explanation = explain(read_situation(cluster, namespace, name, parsed.kind))
    except ApiError as error:
        raise Unreachable.problem(
            f"job {names[0]} could not be read: {error}.",
            "an API server that answers, and permission to get the job.",
            f"check the API server, and run kubectl auth can-i get RESOURCE -n {namespace}.",
        ) from error
    answer = document(explanation)
    if parsed.json:
        print_for_programs()
    text = _json(answer) if parsed.json else render(answer, parsed.language)
    if explanation.blocked:
        return text, Exit.CHECK_FAILED
    return text, Exit.INCOMPLETE if explanation.unread else Exit.OK


def explain_manifests(parsed: argparse.Namespace, files: Sequence[str]) -> tuple[str, Exit]:
    """Judge manifests: the text to print, and 1 where something is wrong, 3 where too little could be read.

    With --fix the text to print is that of the corrected manifests, and the answer goes to standard error; with
    --output they go to that file.

    Raises:
        InvalidInput: a file holds no manifests, several clusters are named, or options contradict each other.
        Unreachable: the named cluster does not answer.
        NotWritten: the file of --output cannot be written.
    """
    _require_usable(parsed, files)
    requests = _requests(parsed.requests or "")
    sources = documents.read(files, parsed.namespace)
    cluster, why = _cluster(parsed)

    def judged(manifests: Sequence[Manifest]) -> Judgement:
        around = surroundings(manifests, cluster, why, requests)
        return judge(manifests, around, cluster.origin if cluster else "")

    if parsed.fix:
        sources, judgement = fix(sources, parsed.namespace, judged)
    else:
        judgement = judged([item for source in sources for item in source.manifests])
    answer = manifest_rendering.document(judgement)
    if parsed.json or parsed.fix:
        print_for_programs()
    text = _json(answer) if parsed.json else manifest_rendering.render(answer, parsed.language)
    if parsed.output:
        _write(parsed.output, joined(sources))
    elif parsed.fix:
        sys.stderr.write(text)
        text = joined(sources)
    return text, _exit(judgement, parsed)


def _require_usable(parsed: argparse.Namespace, files: Sequence[str]) -> None:
    if not files:
        raise InvalidInput.problem("no file.", "explain manifest FILE…; - is standard input.", "name the files.")
    if (parsed.output or parsed.requests) and not parsed.fix:
        option = "--output" if parsed.output else "--requests"
        raise InvalidInput.problem(f"{option} without --fix.", "--fix, which corrects.", "add --fix.")


def _requests(text: str) -> dict[str, str]:
    """The amounts of --requests by resource."""
    items = [item.strip().partition("=") for item in text.split(",")] if text else []
    if wrong := [f"{name}{sign}{amount}" for name, sign, amount in items if not name or not is_positive(amount)]:
        needed = "resources with amounts above 0, as in cpu=100m,memory=128Mi."
        raise InvalidInput.problem(f"--requests has {', '.join(map(repr, wrong))}.", needed, "correct it.")
    return {name: amount for name, _, amount in items}


def _write(path: Path, text: str) -> None:
    try:
        write_file(path, text)
    except OSError as error:
        found = f"{path} cannot be written: {error.strerror}."
        raise NotWritten.problem(found, "a directory with room that may be written.", "name another file.") from error


def _cluster(parsed: argparse.Namespace) -> tuple[Cluster | None, str]:
    """The cluster to ask; or None, and why there is none."""
    if parsed.offline:
        return None, "--offline"
    clusters: Mapping[str, tuple[Path | None, str | None]] = named(parsed.kubeconfig, parsed.context)
    if len(clusters) != 1:
        raise InvalidInput.problem(f"{len(clusters)} clusters.", "one cluster.", "run it for each.")
    ((kubeconfig, context),) = clusters.values()
    try:
        return Cluster.connect(kubeconfig, context, user_agent=_AGENT), ""
    except Unreachable as error:
        if kubeconfig or context:
            raise
        return None, error.problems[0].found.rstrip(".")


def _exit(judgement: Judgement, parsed: argparse.Namespace) -> Exit:
    if judgement.blocked:
        return Exit.CHECK_FAILED
    unread = [item for item in judgement.unread if item.reason != CEL]
    if any(item.reason != _OFFLINE or not parsed.offline for item in unread):
        return Exit.INCOMPLETE
    return Exit.WARNINGS if parsed.strict and judgement.warned else Exit.OK


def _json(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
