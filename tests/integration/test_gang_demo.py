"""All scenarios by their playbook: every case comes out as claimed, and the cluster is as it was."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.closing import SHARED
from kubeflow_volcano.gang_demo.catalogue import NAMES, select_cases
from kubeflow_volcano.gang_demo.play.limits import LIMITS
from kubeflow_volcano.gang_demo.play.stand import Case
from kubeflow_volcano.rehearsal.spec import State
from tests.integration.test_scheduler_plugins import asked
from tests.playing import ansible

__all__ = ["asked"]  # a fixture, by its name

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500)]

OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
CONFIGURATION = Ref("v1", "ConfigMap", "volcano-system", "volcano-scheduler-configmap")
JOBS = ("TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "MXJob")


def play(kubeconfig: Path, reports: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    state = State.load(kubeconfig.parent / "state.json")
    assert state, "scenarios are played on a rehearsal cluster"
    variables = {
        "rehearsal_cluster_name": kubeconfig.parent.name,
        # As the cluster was made: with others the playbook starts its node anew, without what it was given.
        "rehearsal_cluster_extras": state.spec.extras,
        "gang_demo_report_directory": str(reports),
        **more,
    }
    return ansible("-i", "inventory/rehearsal", "-e", json.dumps(variables), "playbooks/gang_demo.yml")


def surroundings(cluster: Cluster) -> dict[str, Any]:
    """What a scenario changes for its time: nodes, the operator's arguments, Volcano's configuration and queues."""

    def live(ref: Ref) -> Object:
        found = cluster.get(ref)
        assert found is not None
        return found

    nodes = cluster.list("v1", "Node").items
    return {
        "nodes": {item["metadata"]["name"]: item["status"]["allocatable"].get("nvidia.com/gpu", "0") for item in nodes},
        "operator": live(OPERATOR)["spec"]["template"]["spec"]["containers"][0]["args"],
        "configuration": live(CONFIGURATION)["data"],
        "shared": {kind: sorted(item["metadata"]["name"] for item in listed(cluster, *kind)) for kind in SHARED},
    }


def listed(cluster: Cluster, api_version: str, kind: str) -> tuple[Object, ...]:
    return cluster.list(api_version, kind).items


def as_claimed(
    done: subprocess.CompletedProcess[str], reports: Path, cases: Sequence[Case], gang: str = VOLCANO.name
) -> Sequence[dict[str, Any]]:
    """The outcomes in the report, of exactly these cases, which came out as claimed but for what is known not to."""
    told = done.stdout[-20000:] + done.stderr[-1000:]
    assert (reports / "gang-demo.json").exists(), told
    found: list[dict[str, Any]] = json.loads((reports / "gang-demo.json").read_text("utf-8"))["outcomes"]
    assert [item["case"] for item in found if not item["judged"]] == [], told
    wrong = {item["case"]: item["problem"] for item in found if item["problem"]}
    assert {item["case"] for item in found} == {case.name for case in cases}, told
    assert {case: why for case, why in wrong.items() if (gang, case) not in LIMITS} == {}, told
    assert done.returncode == 0, told
    return found


@pytest.mark.long
@pytest.mark.parametrize("names", [NAMES[:1], NAMES], ids=["first", "all"])
def test_every_case_comes_out_as_claimed_and_everything_is_as_before(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path, names: Sequence[str]
) -> None:
    before = surroundings(cluster)
    cases = select_cases(names)
    done = play(kubeconfig, tmp_path, gang_demo_scenarios=list(names))
    outcomes = as_claimed(done, tmp_path, cases)

    for item in outcomes:
        assert item["title"] in done.stdout, "the tables are shown"
        assert item["versions"]["Volcano"]
        assert item["rows"] or item["events"]
    assert done.stdout.count("as claimed (") == len(cases)
    assert {path.name for path in tmp_path.glob("*.svg")} == {f"gang-demo-{name}.svg" for name in names}

    assert surroundings(cluster) == before
    assert not [item for kind in JOBS for item in listed(cluster, "kubeflow.org/v1", kind)]
    assert not cluster.list("v1", "Namespace", labels=RUN_LABEL).items


@pytest.mark.long
@pytest.mark.usefixtures("asked")
def test_gangs_of_scheduler_plugins_are_played_beside_the_same_controls(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    """The playbook installs it, and leaves the operator with it, as the inventory has it."""
    before = surroundings(cluster)
    name = SCHEDULER_PLUGINS.name
    done = play(kubeconfig, tmp_path, gang_scheduling_scheduler=name)
    outcomes = as_claimed(done, tmp_path, select_cases([], name), name)

    stuck = {item["case"] for item in outcomes if item["problem"]}
    assert stuck >= {"elastic-all", "elastic-gang", "job-kinds-gang"}, "Coscheduling has learned of pods that end"

    assert {bool(item["versions"].get(SCHEDULER_PLUGINS.title)) for item in outcomes} == {True}
    after = surroundings(cluster)
    assert f"--gang-scheduler-name={SCHEDULER_PLUGINS.scheduler}" in after["operator"]
    assert after | {"operator": before["operator"]} == before
    assert not cluster.list("v1", "Namespace", labels=RUN_LABEL).items


def test_a_scenario_that_is_not_known_is_refused_before_anything_is_changed(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    before = surroundings(cluster)
    done = play(kubeconfig, tmp_path, gang_demo_scenarios=["two-job"])
    assert done.returncode != 0
    assert "Found: unknown scenario two-job." in done.stdout
    assert surroundings(cluster) == before
    assert not list(tmp_path.iterdir())
