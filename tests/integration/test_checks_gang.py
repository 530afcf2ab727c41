"""What is left of earlier troubles of Volcano, made on purpose: F7 to F9 on real logs and real groups."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, probe_pod
from kubeflow_volcano.experiment.session import Options
from kubeflow_volcano.validators.checks.volcano import aftermath
from kubeflow_volcano.validators.checks.volcano.aftermath import PREVIOUS_LOGS
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.resources import RESOURCES
from tests.integration.breaking import judge, made, space
from tests.samples.facts import with_volcano
from tests.waiting import until

pytestmark = pytest.mark.cluster

PODGROUP = "scheduling.volcano.sh/v1beta1", "PodGroup"
LAST_WORDS = "panic: failed init default queue, with err: failed calling webhook"


def facts_of(cluster: Cluster, where: str, **expected: object) -> Facts:
    """Pods and PodGroups of one namespace, on a cluster that serves Volcano's kinds."""
    kinds = (RESOURCES["pods"], RESOURCES["podgroups.scheduling.volcano.sh"])
    objects = {str(kind): cluster.list(kind.api_version, kind.kind, namespace=where).items for kind in kinds}
    served = with_volcano()
    expectations = replace(served.expectations, **expected)  # type: ignore[arg-type]
    return replace(served, expectations=expectations, taken=time.time(), objects={**served.objects, **objects})


def test_a_volcano_that_is_well_leaves_nothing(kubeconfig: Path) -> None:
    found = judge(kubeconfig, "F7", "F8", "F9")
    assert found["F7"] == ("pass", "AsClaimed")
    assert {found[id_] for id_ in ("F8", "F9")} <= {("pass", "AsClaimed"), ("skip", "NoPodGroups")}


def test_the_last_words_of_a_container_that_was_started_again_are_read(cluster: Cluster) -> None:
    with space(cluster) as where:
        container = {
            "name": "scheduler",
            "image": Options().busybox_image,
            # The first time it panics, from the second time on it runs; what it has written outlives the container.
            "command": [
                "sh",
                "-c",
                f"test -e /kept/twice && exec sleep 3600; touch /kept/twice; echo '{LAST_WORDS}'; exit 2",
            ],
            "resources": SCRIPT_RESOURCES,
            "volumeMounts": [{"name": "kept", "mountPath": "/kept"}],
        }
        label = {"app": "scheduler"}
        template = probe_pod("scheduler", where, container, labels=label)
        template["spec"] |= {"restartPolicy": "Always", "volumes": [{"name": "kept", "emptyDir": {}}]}
        del template["spec"]["activeDeadlineSeconds"]
        spec = {
            "selector": {"matchLabels": label},
            "template": {"metadata": {"labels": label}, "spec": template["spec"]},
        }
        deployment = new_object("apps/v1", "Deployment", "scheduler", where)
        with made(cluster, deployment | {"spec": spec}):
            ours = {Ref("apps/v1", "Deployment", where, "scheduler"): "volcano"}

            def facts() -> Facts:
                return facts_of(cluster, where, workloads=ours)

            def again() -> bool:
                states = [item for pod in facts().all("pods") for item in pod["status"].get("containerStatuses") or ()]
                return any(item["restartCount"] and item["ready"] for item in states)

            until(again)
            found = facts()
            logs = {PREVIOUS_LOGS: PREVIOUS_LOGS.fetch(cluster, found)}
            outcome = aftermath.no_start_panics(replace(found, found=logs))
    assert (outcome.status, outcome.reason) == (Status.WARN, "QueuePanic")
    assert repr(LAST_WORDS) in outcome.message


def test_a_group_without_pods_and_a_gang_in_pieces_are_found_when_they_last(cluster: Cluster) -> None:
    with (
        space(cluster, **{"istio-injection": "disabled"}) as where,
        made(cluster, group(where, "empty", 1), group(where, "torn", 2)),
    ):
        first, second = (cluster.create(member(where, f"p{number}")) for number in range(2))

        def phases() -> dict[str, str]:
            found = cluster.list(*PODGROUP, namespace=where).items
            return {item["metadata"]["name"]: item.get("status", {}).get("phase", "") for item in found}

        def running() -> bool:
            pods = [cluster.get(Ref.of(item)) for item in (first, second)]
            return all(pod and pod["status"].get("phase") == "Running" for pod in pods)

        until(running)
        cluster.delete(Ref.of(second), uid=second["metadata"]["uid"], grace_seconds=0)
        until(lambda: phases() == {"empty": "Inqueue", "torn": "Unknown"})
        now = facts_of(cluster, where)
    early = [check(now) for check in (aftermath.no_stale_podgroups, aftermath.no_broken_gangs)]
    late = replace(now, taken=now.taken + 700)
    stale, broken = aftermath.no_stale_podgroups(late), aftermath.no_broken_gangs(late)
    assert [item.status for item in early] == [Status.PASS, Status.PASS]
    assert (stale.reason, [ref.name for ref in stale.objects]) == ("StalePodGroups", ["empty"])
    assert (broken.reason, [ref.name for ref in broken.objects]) == ("BrokenGangs", ["torn"])
    assert "1 of 2 members run" in broken.message


def group(where: str, name: str, minimum: int) -> Object:
    return new_object(PODGROUP[0], PODGROUP[1], name, where, spec={"minMember": minimum})


def member(where: str, name: str) -> Object:
    container = {"image": Options().pause_image}
    annotations = {"scheduling.k8s.io/group-name": "torn"}
    return probe_pod(name, where, container, spec={"schedulerName": "volcano"}, annotations=annotations)
