"""The container that wakes operators which do not watch PodGroups: where it stands, and what it does."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.read import versions_of
from kubeflow_volcano.catalog.shipped import images_outside
from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.gang.notifier import ANNOTATION, CONTAINER, with_notifier
from tests.waiting import until

OPERATOR = "training-operator"


def operator(tag: str) -> dict[str, Any]:
    container = {"name": OPERATOR, "image": f"kubeflow/training-operator:{tag}"}
    return new_object(
        "apps/v1", "Deployment", OPERATOR, "kubeflow", spec={"template": {"spec": {"containers": [container]}}}
    )


def containers(obj: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = obj["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize(
    ("tag", "release_version", "names"),
    [
        ("v1-e1434f6", "1.5.0", [OPERATOR, CONTAINER]),
        ("own-build", "1.5.0", [OPERATOR, CONTAINER]),
        ("v1-5a5f92d", "1.5.0", [OPERATOR]),
        ("v1-04f9f13", "1.8.1", [OPERATOR]),
    ],
)
def test_it_stands_beside_operators_that_do_not_watch_podgroups(
    tag: str, release_version: str, names: list[str]
) -> None:
    given = operator(tag)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": OPERATOR}}
    other, found = with_notifier([service, given], OPERATOR, release_version, "1.8.2")
    assert [item["name"] for item in containers(found)] == names
    assert other is service
    assert len(containers(given)) == 1


@pytest.mark.parametrize("version", versions_of("volcano"))
def test_its_image_is_that_of_volcanos_admission(version: str) -> None:
    (found,) = with_notifier([operator("v1-e1434f6")], OPERATOR, "1.5.0", version)
    assert containers(found)[1]["image"] in images_outside("volcano", version).values()
    assert "/vc-webhook-manager:" in containers(found)[1]["image"]


# It is asked once for a watch, of which it prints these lines, and stays; else it writes down what it was asked for.
KUBECTL = """#!/bin/sh
case "$1" in
  get) cat "$(dirname "$0")/groups"; exec sleep 60 ;;
  *) echo "$@" >>"$(dirname "$0")/asked" ;;
esac
"""


@pytest.mark.programs
def test_it_touches_the_jobs_of_the_operator_whose_gangs_are_admitted_and_ends_when_told(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    lines = (
        "team-a Inqueue kubeflow.org/v1 TFJob mnist",
        "team-a Pending kubeflow.org/v1 TFJob waits",
        "team-a  kubeflow.org/v1 TFJob fresh",
        "team-a Inqueue batch.volcano.sh/v1alpha1 Job vcjob",
        "team-a Inqueue   ",
        "team-b Running kubeflow.org/v1 TFJob runs",
        "team-b Inqueue kubeflow.org/v1 --server=http://evil mnist",
        "team-b Inqueue kubeflow.org/v1 TFJob --token=x",
        "team-b Inqueue kubeflow.org/v1 TFJob -x",
        "team-b Inqueue kubeflow.org/v1 secrets/x,TFJob mnist",
        "team-b Inqueue kubeflow.org/v1 TFJob other/mnist",
        "team-b Inqueue kubeflow.org/v1 TFJob a b=c",
        "team-b Inqueue kubeflow.org/v1 TFJob a=b",
        "--server=x Inqueue kubeflow.org/v1 TFJob mnist",
        "team-b Inqueue kubeflow.org/v1 PyTorchJob bert",
    )
    (tmp_path / "groups").write_text("".join(f"{line}\n" for line in lines))
    (found,) = with_notifier([operator("v1-e1434f6")], OPERATOR, "1.5.0", "1.8.2")
    command = containers(found)[1]["command"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    asked = tmp_path / "asked"
    with subprocess.Popen(command, env={"PATH": path}, start_new_session=True) as process:
        try:
            until(lambda: asked.exists() and len(asked.read_text().splitlines()) == 2)
            process.terminate()
            assert process.wait(timeout=60) == 0
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    told = [line.rpartition("=")[0] for line in asked.read_text().splitlines()]
    assert told == [
        f"--namespace team-a annotate --overwrite -- TFJob.kubeflow.org mnist {ANNOTATION}",
        f"--namespace team-b annotate --overwrite -- PyTorchJob.kubeflow.org bert {ANNOTATION}",
    ]
