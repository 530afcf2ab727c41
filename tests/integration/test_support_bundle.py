"""The support bundle of a real cluster."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from tests.integration.test_validators import BUSYBOX
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SPACE, SECRET = "kfv-support", "hunter2-hunter2"


def run(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "validators", "support-bundle", "--kubeconfig", str(kubeconfig), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


def test_it_has_the_platform_and_the_namespace_that_was_named(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    space = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    container = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", "echo token=$WORD; echo hello; sleep 600"],
        "env": [{"name": "WORD", "value": SECRET}],
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    meta = {"name": "talks", "namespace": SPACE}
    try:
        cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        until(lambda: "hello" in cluster.logs(SPACE, "talks") if _runs(cluster) else False, 120)
        target = tmp_path / "bundle.tar.gz"
        done = run(kubeconfig, "--namespace", SPACE, "--output", str(target), "--report-dir", str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert "before you send" in done.stdout
        texts = contents(target)
    finally:
        cluster.delete(Ref.of(space), uid=space["metadata"]["uid"])
        until(lambda: cluster.get(Ref.of(space)) is None, 120)
    assert texts["lacking.txt"] == "nothing\n"
    assert texts[f"logs/{SPACE}/talks/main.log"] == "token=[redacted]\nhello\n"
    assert not [f"{path}: {line[:400]}" for path, text in texts.items() for line in text.splitlines() if SECRET in line]
    assert any(path.startswith("logs/volcano-system/volcano-scheduler-") for path in texts)
    operators = yaml.safe_load_all(texts["objects/kubeflow/deployments.apps.yaml"])
    assert "training-operator" in {obj["metadata"]["name"] for obj in operators}
    configuration = texts["objects/volcano-system/configmaps.yaml"]
    assert "volcano-scheduler.conf" in configuration
    kinds = {obj["kind"] for path, text in texts.items() if path.endswith(".yaml") for obj in yaml.safe_load_all(text)}
    assert kinds >= {"Node", "Pod", "Queue", "CustomResourceDefinition", "MutatingWebhookConfiguration"}
    assert "Secret" not in kinds


def contents(target: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    with tarfile.open(target) as archive:
        for name in archive.getnames():
            file = archive.extractfile(name)
            assert file is not None
            found[name.removeprefix("bundle/")] = file.read().decode()
    return found


def _runs(cluster: Cluster) -> bool:
    pod = cluster.get(Ref("v1", "Pod", SPACE, "talks"))
    return bool(pod and (pod.get("status") or {}).get("phase") == "Running")


def test_a_namespace_that_does_not_exist_is_refused(kubeconfig: Path, tmp_path: Path) -> None:
    target = tmp_path / "bundle.tar.gz"
    done = run(kubeconfig, "--namespace", "kfv-absent", "--output", str(target))
    assert (done.returncode, target.exists()) == (2, False)
    assert "Found: --namespace kfv-absent" in done.stderr
