"""A cluster that validates itself: the CronJob, its rights, a run of it on the real node, and how it goes again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.scheduled import with_schedule
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.validators.cli.scheduled import NAME, NAMESPACE, ROLES
from tests.integration.test_stale import installed, removed
from tests.node_image import on_the_node
from tests.waiting import until
from tests.wheel_image import write_wheel_image

__all__ = ["installed"]

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

IMAGE = "registry.example/kubeflow-volcano:test"
CRON_JOB = Ref("batch/v1", "CronJob", NAMESPACE, NAME)
CLASS = "storageclass.kubernetes.io/is-default-class"


@pytest.fixture(scope="module")
def image(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """On the node, as if it had been pulled."""
    scratch = tmp_path_factory.mktemp("image")
    write_wheel_image(scratch / "image.tar", IMAGE, scratch)
    with on_the_node(kubeconfig.parent.name, scratch / "image.tar", IMAGE) as name:
        yield name


def roll(cluster: Cluster, variables: dict[str, Any], *, check: bool = False, **more: Any) -> ApplyResult:
    settings = with_schedule(parse(variables | more))
    done = run.roll_out(cluster, settings, scope_of(settings), check=check, progress=silent)
    assert not done.problems
    return done


def made(done: ApplyResult) -> set[Ref]:
    return {item.ref for item in done.outcomes if item.action is Action.CREATED}


def changes(done: ApplyResult) -> list[str]:
    still = {Action.UNCHANGED}
    return [f"{item.ref} {item.action}" for item in done.outcomes if item.action not in still]


def ended(cluster: Cluster, name: str) -> tuple[str, str]:
    """A Job as `kubectl create job --from=cronjob/validation` makes it: how it ended, and its log."""
    cron_job = cluster.get(CRON_JOB)
    assert cron_job
    template = cron_job["spec"]["jobTemplate"]
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE}}
    created = cluster.create({**job, "spec": template["spec"]})
    ref = Ref.of(created)

    def state() -> str:
        live = cluster.get(ref)
        assert live
        found = conditions(live)
        return next((kind for kind in ("Complete", "Failed") if found.get(kind, {}).get("status") == "True"), "")

    try:
        found = until(state, 300)
        (pod,) = cluster.list("v1", "Pod", namespace=NAMESPACE, labels=f"job-name={name}").items
        return found, cluster.logs(NAMESPACE, pod["metadata"]["name"], tail=400)
    finally:
        cluster.delete(ref, uid=created["metadata"]["uid"])


def test_a_cluster_validates_itself_with_the_rights_that_it_is_given(
    cluster: Cluster, installed: dict[str, Any], image: str
) -> None:
    schedule: dict[str, Any] = {"validation_schedule": "0 6 * * *", "validation_schedule_image": image}
    foretold = roll(cluster, installed, check=True, **schedule)
    assert cluster.get(CRON_JOB) is None
    first = roll(cluster, installed, **schedule)
    ours = {ref for ref in made(first) if ref.name in {NAME, ROLES}}
    assert CRON_JOB in ours
    assert made(foretold) == made(first) == ours
    assert not changes(roll(cluster, installed, **schedule))

    end, log = ended(cluster, "healthy")
    assert end == "Complete", log
    assert "PASS" in log
    assert "Forbidden" not in log

    default = default_class(cluster)
    mark(cluster, default, "false")
    try:
        end, log = ended(cluster, "broken")
    finally:
        mark(cluster, default, "true")
    assert end == "Failed", log
    assert "FAIL" in log
    assert "D1" in log

    gone = roll(cluster, installed)
    assert removed(gone) == ours
    assert all(cluster.get(ref) is None for ref in ours)
    assert not changes(roll(cluster, installed))


def default_class(cluster: Cluster) -> Ref:
    found = cluster.list("storage.k8s.io/v1", "StorageClass").items
    (default,) = [item for item in found if item["metadata"].get("annotations", {}).get(CLASS) == "true"]
    return Ref.of(default)


def mark(cluster: Cluster, ref: Ref, default: str) -> None:
    live = cluster.get(ref)
    assert live
    live["metadata"]["annotations"][CLASS] = default
    cluster.replace(live)
