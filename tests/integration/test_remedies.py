"""What a finding prints to change the cluster is run literally on a cluster that is broken so, and heals it."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kubeflow_volcano.apply.waiting.webhooks import wait_for_webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.stages import explain
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import leftovers, space
from tests.integration.remedies import INSTALL_AGAIN, LONG, QUICK, Broken, Remedy
from tests.rehearsed import play
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

HASTY = Timing(grace_seconds=4.0, settle_seconds=0.1)
ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission")
ADMISSION_JOB = Ref("batch/v1", "Job", "volcano-system", "volcano-admission-init")
Found = tuple[str, tuple[str, ...]]
"""Reason of a finding, and its commands that change something; empty reason: there is none."""


@pytest.fixture
def at(cluster: Cluster, kubeconfig: Path) -> Iterator[Broken]:
    with space(cluster) as where:
        yield Broken(cluster, kubeconfig, where)
    assert leftovers(cluster) == []


@pytest.mark.long
def test_remedies_printed_by_one_judgement_heal_all_that_was_broken(at: Broken) -> None:
    heal(at, QUICK)
    # Run again by kubectl under the roll-out's name: another owner's fields would stop the next roll-out (409).
    live = at.cluster.get(ADMISSION_JOB)
    assert live is not None
    entries = [item for item in live["metadata"]["managedFields"] if not item.get("subresource")]
    assert {item["manager"] for item in entries} == {FIELD_MANAGER}


@pytest.mark.long
@pytest.mark.parametrize("remedy", LONG, ids=[item.name for item in LONG])
def test_a_remedy_heals_when_it_is_done_literally(at: Broken, remedy: Remedy) -> None:
    heal(at, [remedy])


@pytest.mark.long
def test_what_is_to_be_installed_again_is_healed_by_the_playbook(at: Broken) -> None:
    for _, breaking in INSTALL_AGAIN.values():
        breaking(at)
    until(lambda: reasons(at) == {id_: reason for id_, (reason, _) in INSTALL_AGAIN.items()}, every=1)
    play(at.kubeconfig.parent.name, "install")
    until(lambda: not any(reasons(at).values()), every=1)


def reasons(at: Broken) -> dict[str, str]:
    return {id_: reason for id_, (reason, _) in judged(at, *INSTALL_AGAIN).items()}


def heal(at: Broken, remedies: Sequence[Remedy]) -> None:
    with contextlib.ExitStack() as stack:
        for item in remedies:
            stack.enter_context(item.make(at))
        found: dict[str, Found] = {}

        def seen() -> dict[str, str]:
            found.update(findings(at, remedies))
            return {name: reason for name, (reason, _) in found.items()}

        wanted = {item.name: item.reason for item in remedies}
        assert at_last(seen, wanted, 120, every=1) == wanted
        for item in remedies:
            commands = found[item.name][1]
            assert commands, item.name
            for command in commands:
                run(at, command, on_node=item.on_node)
            if item.restarts:
                answer_again(at.cluster, item.restarts)
        until(lambda: not any(reason for reason, _ in findings(at, remedies).values()), 180, every=1)


def answer_again(cluster: Cluster, restarts: Sequence[Ref]) -> None:
    """Wait until the new pod of the admission answers alone: what comes next may need it.

    Right after the command it is the old one that answers, and connections are refused while it ends.
    """
    found = wait_ready(cluster, [ADMISSION], Deadline(120), silent)
    assert found[ADMISSION].ready, found
    until(lambda: not any("deletionTimestamp" in item["metadata"] for item in pods_of(cluster, ADMISSION)))
    assert wait_for_webhooks(cluster, restarts, Deadline(60), silent) == ()


def pods_of(cluster: Cluster, deployment: Ref) -> Sequence[Object]:
    pods = cluster.list("v1", "Pod", namespace=deployment.namespace).items
    return [pod for pod in pods if pod["metadata"]["name"].startswith(f"{deployment.name}-")]


def run(at: Broken, command: str, *, on_node: bool = False) -> None:
    """One printed command in a shell, with the kubectl of the cluster."""
    if on_node:
        at.inside("sh", "-c", command)
        return
    path = f"{at.kubeconfig.parent / 'bin'}:{os.environ['PATH']}"
    own = {"KUBECONFIG": str(at.kubeconfig), "PATH": path}
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def findings(at: Broken, remedies: Sequence[Remedy]) -> dict[str, Found]:
    checks = judged(at, *{item.by for item in remedies if " " not in item.by}, profile=remedies[0].profile)
    return {item.name: explained(at, item) if " " in item.by else checks[item.by] for item in remedies}


def judged(at: Broken, *select: str, profile: str | tuple[str, ...] = "training") -> dict[str, Found]:
    if not select:
        return {}
    options = Options(at.kubeconfig, profile=profile, select=select, stability_seconds=1, report_dir=None)
    report = validate(options, silent, timing=HASTY)
    outcomes = {item.check.id: item.outcome for item in report.results}
    return {
        id_: (outcome.reason if outcome.status in {"fail", "warn", "error"} else "", outcome.changes)
        for id_, outcome in outcomes.items()
    }


def explained(at: Broken, remedy: Remedy) -> Found:
    """The finding of that reason about a job; without it the job has started, or waits for something else."""
    found = explain(read_situation(at.cluster, at.where, remedy.by.partition(" ")[2])).findings
    return next(((item.reason, item.changes) for item in found if item.reason == remedy.reason), ("", ()))
