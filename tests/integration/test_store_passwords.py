"""Passwords of databases on a real API server, in objects that stand for Katib's: no server of them starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.cluster.objects import Ref, new_object
from kubeflow_volcano.rollout.account.sign_in import decoded, encoded
from kubeflow_volcano.rollout.account.stores import KEPT
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.state.store import write_keys
from tests.integration.rolling import own_sources, roll_out

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

NAME, KEY = "katib-mysql-secrets", "MYSQL_ROOT_PASSWORD"
SECRET = Ref("v1", "Secret", "kubeflow", NAME)
CLAIM = Ref("v1", "PersistentVolumeClaim", "kubeflow", "katib-mysql")
SPEC = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "stand-in-none",
}
OBJECTS = [
    new_object("v1", "Namespace", "kubeflow"),
    new_object("v1", "Secret", NAME, "kubeflow", type="Opaque", data=encoded({KEY: "test"})),
    new_object("v1", "PersistentVolumeClaim", CLAIM.name, "kubeflow", spec=SPEC),
]

Run = Callable[[], tuple[bool, str]]


@pytest.fixture
def run(cluster: Cluster, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A roll-out of these: whether it changed something, and the password in the end, which no line has."""
    (tmp_path / "kustomization.yaml").write_text("resources: [objects.yaml]\n")
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(OBJECTS))
    settings = parse(
        {
            "kubeflow_components": ["katib"],
            "kustomize_binary": own_sources(kubeconfig)["kustomize_binary"],
            "kubeflow_sources": {"katib": str(tmp_path)},
        }
    )
    katib = replace(settings.component("kubeflow-namespace"), name="katib")
    monkeypatch.setattr(Settings, "requirements", lambda *_: ())  # none of what Katib's operators need is here
    settings = replace(settings, components=(katib,))

    def once() -> tuple[bool, str]:
        lines: list[str] = []
        done = roll_out(cluster, settings, [katib], check=False, progress=lines.append)
        assert done.problems == ()
        password = decoded(cluster.get(SECRET) or {})[KEY]
        assert password not in f"{lines} {done}" or password == "test"  # noqa: S105  upstream's
        return done.changed, password

    yield once
    for ref in (SECRET, CLAIM, KEPT):
        remove(cluster, ref)
    write_keys(cluster, APPLIED_OBJECTS, {"katib": None})


def remove(cluster: Cluster, ref: Ref) -> None:
    if live := cluster.get(ref):
        cluster.delete(ref, uid=live["metadata"]["uid"])


def test_a_new_server_gets_a_random_password_and_one_with_data_keeps_its_own(cluster: Cluster, run: Run) -> None:
    changed, first = run()
    assert (changed, len(first)) == (True, 24)
    assert decoded(cluster.get(KEPT) or {}) == {NAME: first}
    assert run() == (False, first)
    remove(cluster, SECRET)  # as an uninstallation that keeps claims
    assert run() == (True, first)
    cluster.patch(SECRET, {"data": encoded({KEY: "by-hand"})})
    assert run()[1] == "by-hand"
    assert decoded(cluster.get(KEPT) or {}) == {NAME: "by-hand"}
    remove(cluster, SECRET)
    remove(cluster, KEPT)
    assert run() == (True, "test")  # as an installation of an earlier version, whose server has upstream's
    assert cluster.get(KEPT) is None
    assert run() == (False, "test")
