"""Asks the product about cases on a rehearsal cluster, on which a case is planted for as long as it is asked."""

from __future__ import annotations

import contextlib
import json
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.exec import execute
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.cases.asking import answer_of_checks, of_findings, ran
from tests.cases.behind import behind
from tests.cases.case import Answer, Look
from tests.integration.breaking import made, patched
from tests.integration.injecting import injecting
from tests.integration.remedies import CONFIGURATION
from tests.waiting import at_last, until

_SECONDS, _SECONDS_OF_OPEN = 90.0, 20.0
"""So long a scheduler and controllers have to say what they think of a job, and the pods of other tests to go."""
_PODS = {"containers": [{"name": "asked", "image": "asked"}]}
_ASKED: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "asked", "namespace": "default"},
    "spec": _PODS,
}


def asked(look: Look, cluster: Cluster, kubeconfig: Path) -> Answer:
    """The right answer as soon as the product gives it, else the last one."""
    answers: list[Answer] = []

    with _planted(look, cluster), _reached(look, kubeconfig) as where:

        def missed() -> list[str]:
            answers.append(_ask(look, where))
            return look.right.missed_by(answers[-1])

        seconds = _SECONDS_OF_OPEN if look.open else _SECONDS
        at_last(missed, list[str](), seconds if look.way == "job" else 0, every=1)
        return answers[-1]


def _ask(look: Look, kubeconfig: Path) -> Answer:
    where = ("--json", "--kubeconfig", str(kubeconfig))
    if look.way == "job":
        return of_findings(*ran("explain", "job", look.given, *where))
    if look.way == "manifest":
        return of_findings(*ran("explain", "manifest", str(look.folder / look.given), *where))
    options = Options(kubeconfig, select=tuple(look.given), stability_seconds=1, report_dir=None)
    report = validate(options, silent, timing=Timing(grace_seconds=4.0, settle_seconds=0.1))
    return answer_of_checks({item.check.id: item.outcome for item in report.results}, int(report.exit_code))


@contextlib.contextmanager
def _reached(look: Look, kubeconfig: Path) -> Iterator[Path]:
    """The kubeconfig that is asked with: the administrator's, or one of a server behind a path."""
    path = look.more.get("behind")
    if not path:
        yield kubeconfig
        return
    with tempfile.TemporaryDirectory() as name, behind(kubeconfig, path, Path(name)) as other:
        yield other


@contextlib.contextmanager
def _planted(look: Look, cluster: Cluster) -> Iterator[None]:
    """What the look says is around it: patches, words of the scheduler's configuration, a webhook, objects."""
    with contextlib.ExitStack() as stack:
        for item in look.more.get("patch", ()):
            stack.enter_context(_patched(item, cluster))
        if words := look.more.get("scheduler"):
            stack.enter_context(_configured(cluster, words))
        if hook := look.more.get("webhook"):
            stack.enter_context(
                injecting(cluster, hook["name"], lambda _: hook["change"], hook.get("asked", _ASKED), **hook["with"])
            )
        if look.way == "job":
            if name := look.more.get("first"):
                stack.enter_context(_applied(cluster, look.folder / name))
                until(lambda: _pods_in(look.given, cluster) >= look.more["pods"])
            stack.enter_context(_applied(cluster, look.folder / "job.yaml"))
        elif name := look.more.get("apply"):
            stack.enter_context(_applied(cluster, look.folder / name))
        yield


@contextlib.contextmanager
def _patched(item: Mapping[str, Any], cluster: Cluster) -> Iterator[None]:
    """An object with a merge patch on it, and with other words in its JSON."""
    ref, change = _ref(item["object"]), item.get("with", {})
    with patched(cluster, ref, subresource=item.get("subresource", "")) as patch:
        if words := item.get("words"):
            live = cluster.get(ref) or {}
            text = json.dumps({key: live[key] for key in ("spec", "rules") if key in live})
            for old, new in words:
                assert old in text
                text = text.replace(old, new)
            patch(json.loads(text))
        if change:
            patch(change)
        if ref.kind == "Deployment":
            assert wait_ready(cluster, [ref], Deadline(_SECONDS), silent)[ref].ready
        yield
    if marks := change.get("metadata"):
        cluster.patch(ref, {"metadata": {kind: dict.fromkeys(keys) for kind, keys in marks.items()}})


def _pods_in(job: str, cluster: Cluster) -> int:
    """How many pods are in the namespace of a job, 'namespace/name'."""
    return len(cluster.list("v1", "Pod", namespace=job.partition("/")[0]).items)


@contextlib.contextmanager
def _applied(cluster: Cluster, path: Path) -> Iterator[None]:
    """All objects of a file, each as soon as the API server takes it."""
    objects = [item for item in yaml.safe_load_all(path.read_text(encoding="utf-8")) if item]
    # Behind the block the objects in a namespace go with it.
    spaces = {item["metadata"]["name"] for item in objects if item["kind"] == "Namespace"}
    inside = [item for item in objects if item["metadata"].get("namespace") in spaces]
    with made(cluster, *(item for item in objects if item not in inside)):
        for item in inside:
            cluster.create(item)
        yield


@contextlib.contextmanager
def _configured(cluster: Cluster, words: list[tuple[str, str]]) -> Iterator[None]:
    """The scheduler's configuration with other words."""
    key = "volcano-scheduler.conf"
    text = (cluster.get(CONFIGURATION) or {})["data"][key]
    for old, new in words:
        assert old in text
        text = text.replace(old, new)
    with patched(cluster, CONFIGURATION) as patch:
        patch({"data": {key: text}})
        _read_again(cluster, key, text)
        yield


def _read_again(cluster: Cluster, key: str, text: str) -> None:
    """Let the scheduler have this configuration: a kubelet looks for it when a pod changes, and else once a minute."""
    where = CONFIGURATION.namespace
    (pod,) = cluster.list("v1", "Pod", namespace=where, labels="app=volcano-scheduler").items
    name = pod["metadata"]["name"]
    cluster.patch(Ref.of(pod), {"metadata": {"annotations": {"cases/read-again": uuid.uuid4().hex}}})

    def said() -> str:
        command = ("cat", f"/volcano.scheduler/{key}")
        return execute(cluster, where, name, pod["spec"]["containers"][0]["name"], command, seconds=10).output

    until(lambda: said() == text)


def _ref(text: str) -> Ref:
    """'apiVersion Kind namespace/name'."""
    version, kind, name = text.split()
    namespace, _, name = name.rpartition("/")
    return Ref(version, kind, namespace, name)
