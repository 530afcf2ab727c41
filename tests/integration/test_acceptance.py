"""Acceptance on a rehearsal cluster: examples run and are removed, and one that cannot start is found and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.runner import Options, validate

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

TENSORFLOW = "docker.io/tensorflow/tensorflow:2.15.0"
JOBS = (("kubeflow.org/v1", "TFJob"), ("batch.volcano.sh/v1alpha1", "Job"), ("v1", "Namespace"), ("v1", "Pod"))


def run(kubeconfig: Path, *select: str, **options: object) -> Report:
    chosen = Options(kubeconfig, select=select, stability_seconds=1, report_dir=None, **options)  # type: ignore[arg-type]
    return validate(chosen, silent, timing=Timing(settle_running_seconds=3))


def outcomes(report: Report) -> dict[str, tuple[str, str, str]]:
    return {
        item.check.id: (str(item.outcome.status), item.outcome.reason, item.outcome.message) for item in report.results
    }


def remains(cluster: Cluster) -> list[str]:
    return [item["metadata"]["name"] for kind in JOBS for item in cluster.list(*kind, labels=RUN_LABEL).items]


def test_a_gang_of_volcano_runs_and_is_removed(kubeconfig: Path, cluster: Cluster) -> None:
    report = run(kubeconfig, "J3", "I1", "I2", acceptance=True)
    found = outcomes(report)
    status, _, message = found["J3"]
    assert status == "pass", message
    assert "jobs/vcjob running" in message
    assert "4 of their" in message
    assert {found[id_][0] for id_ in ("I1", "I2")} == {"pass"}
    assert remains(cluster) == []


def test_without_the_option_nothing_is_created(kubeconfig: Path) -> None:
    report = run(kubeconfig, "acceptance")
    assert {item[0] for item in outcomes(report).values()} == {"skip"}
    assert all("--acceptance" in item[2] for item in outcomes(report).values())
    assert report.cleanup is None or not report.cleanup.created


def test_an_image_that_cannot_be_pulled_fails_at_once_and_is_removed(kubeconfig: Path, cluster: Cluster) -> None:
    absent = "registry.example.invalid/none:1"
    report = run(kubeconfig, "J3", "I1", acceptance=True, example_images={TENSORFLOW: absent})
    found = outcomes(report)
    status, reason, message = found["J3"]
    assert (status, reason) == ("fail", "ExampleNotReached"), message
    assert "ErrImagePull" in message or "ImagePullBackOff" in message
    assert absent in message
    assert found["I1"][0] == "pass"
    assert remains(cluster) == []
