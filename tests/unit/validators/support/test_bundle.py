"""The support bundle: what is in it, in which order logs are read, and that credentials are not."""

from __future__ import annotations

import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import NotWritten
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.support import gathering
from kubeflow_volcano.validators.support.bundle import reports_in, write

HIDE = "hunter2-hunter2"


def pod(
    name: str, *, namespace: str = "kubeflow", ready: bool = True, restarts: int = 0, waiting: bool = False
) -> Object:
    state = {"waiting": {"reason": "ContainerCreating"}} if waiting else {"running": {}}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        "containerStatuses": [{"name": "main", "ready": ready, "restartCount": restarts, "state": state}],
    }
    spec = {"containers": [{"name": "main", "image": "a", "env": [{"name": "ANY", "value": HIDE}]}]}
    meta = {"name": name, "namespace": namespace, "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def deployment() -> Object:
    env = [{"name": "ANY", "value": HIDE}, {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    template = {"spec": {"containers": [{"name": "main", "args": [f"--password={HIDE}", "--port=1"], "env": env}]}}
    meta = {"name": "d", "namespace": "kubeflow", "managedFields": [{"manager": "m"}]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": template}}


class Cluster:
    """Answers from literals; Events may not be read in one namespace."""

    def __init__(self, *pods: Object) -> None:
        self.version = {"gitVersion": "v1.30.2"}
        self.pods = pods
        self.read: list[tuple[str, str, bool]] = []

    def resource(self, api_version: str, kind: str) -> Any:
        if kind == "KfDef":
            raise NotServed(api_version, kind)
        return SimpleNamespace(namespaced=kind in {"Pod", "Deployment", "ConfigMap", "Event"})

    def list(self, _api: str, kind: str, namespace: str = "") -> Any:
        if kind == "Event" and namespace == "kube-system":
            raise ApiError(403, "Forbidden", "events is forbidden")
        about = {"kind": "Pod", "name": "a"}
        event = {"involvedObject": about, "reason": "Failed", "message": f"token={HIDE}\nmore", "lastTimestamp": "T1"}
        items = {
            "Pod": [item for item in self.pods if item["metadata"]["namespace"] == namespace],
            "Deployment": [deployment()] if namespace == "kubeflow" else [],
            "Event": [event],
        }
        return SimpleNamespace(items=items.get(kind, []))

    def logs(self, namespace: str, pod: str, container: str, *, previous: bool, tail: int) -> str:
        assert (container, tail) == ("main", 500)
        self.read.append((namespace, pod, previous))
        return f"password: {HIDE}\n"


def gathered(cluster: Cluster) -> gathering.Gathered:
    found: Any = cluster
    return gathering.gather(found, ("kube-system", "kubeflow"), taken="2026-11-25T12:00:00Z", progress=silent)


def test_no_credential_is_in_it_and_nothing_else_is_lost() -> None:
    found = gathered(Cluster(pod("a")))
    assert not any(HIDE in text for text in found.files.values())
    (shown,) = yaml.safe_load_all(found.files["objects/kubeflow/deployments.apps.yaml"])
    container = shown["spec"]["template"]["spec"]["containers"][0]
    assert container["env"] == [
        {"name": "ANY", "value": "[redacted]"},
        {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    assert container["args"] == ["--password=[redacted]", "--port=1"]
    assert "managedFields" not in shown["metadata"]
    assert found.files["events/kubeflow.txt"] == "T1  Failed x1 Pod a: token=[redacted] more\n"
    assert '"gitVersion": "v1.30.2"' in found.files["about.json"]


def test_what_cannot_be_read_is_named_and_the_rest_is_there() -> None:
    found = gathered(Cluster(pod("a")))
    assert [line.partition(" Forbidden")[0] for line in found.lacking] == ["events in kube-system: 403"]
    assert found.files["lacking.txt"].startswith("events in kube-system")
    assert "events/kubeflow.txt" in found.files


@pytest.mark.parametrize(
    "line",
    [
        "Env:[{Name:ANY Value:%s ValueFrom:nil} {Name:B Value: ValueFrom:&EnvVarSource{}}]",
        "Env:[]EnvVar{EnvVar{Name:ANY,Value:%s with, words,ValueFrom:nil,},},",
        '{"env":[{"name":"ANY","value":"%s \\"quoted\\""},{"name":"B"}]}',
    ],
)
def test_programs_that_log_whole_pods_give_no_variable_away(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "logs", lambda *_, **__: line % HIDE)
    text = gathered(Cluster(pod("a"))).files["logs/kubeflow/a/main.log"]
    assert HIDE not in text
    assert "ANY" in text


def test_logs_of_pods_that_are_not_ready_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_PARALLEL", 1)
    system = [pod("well", namespace="kube-system"), pod("dns", namespace="kube-system", ready=False)]
    cluster = Cluster(
        pod("fine"), pod("ill", ready=False, restarts=2), pod("young", ready=False, waiting=True), *system
    )
    gathered(cluster)
    assert cluster.read == [
        ("kube-system", "dns", False),
        ("kubeflow", "ill", False),
        ("kubeflow", "ill", True),
        ("kubeflow", "fine", False),
    ]
    monkeypatch.setattr(gathering, "_MOST_LOGS", 2)
    assert "2 of 4 logs" in {line.partition(":")[0] for line in gathered(cluster).lacking}


def test_the_archive_is_its_owners_and_has_the_latest_reports(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "latest.json").write_text('{"verdict": "pass"}')
    (reports / "validation-20261125.json").write_text("{}")
    target = tmp_path / "bundle.tar.gz"
    write(reports_in(reports) | {"about.json": "{}"}, target, taken=5)
    assert target.stat().st_mode & 0o777 == 0o600
    with tarfile.open(target) as archive:
        assert archive.getnames() == ["bundle/about.json", "bundle/reports/latest.json"]
        content = archive.extractfile("bundle/reports/latest.json")
        assert content is not None
        assert content.read().decode() == '{"verdict": "pass"}'


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotWritten, match="--output"):
        write({"a": "b"}, tmp_path / "file" / "bundle.tar.gz", taken=0)
