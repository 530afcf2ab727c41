"""Queues, priority classes and the scheduler's configuration of the inventory, on a real Volcano."""

from __future__ import annotations

import secrets

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import may_be_overwritten
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.patches.volcano import CONFIGURATION, configure_scheduling
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings
from tests.integration.breaking import vanish

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

RUN = f"sched-{secrets.token_hex(3)}"
MANAGER = "kubeflow-volcano-test"
LIVE = Ref("v1", "ConfigMap", "volcano-system", "volcano-scheduler-configmap")
ASKED = SchedulingSettings(
    queues=(
        {"name": f"{RUN}-team", "parent": "root", "weight": 2, "capability": {"cpu": 4, "nvidia.com/gpu": "2"}},
        {"name": f"{RUN}-other", "guarantee": {"cpu": "500m"}, "capability": {"cpu": "1"}, "reclaimable": False},
    ),
    priority_classes=({"name": f"{RUN}-urgent", "value": 1000, "preemption_policy": "Never"},),
)


def test_queues_and_classes_are_accepted_and_a_second_time_changes_nothing(cluster: Cluster) -> None:
    objects: list[Object] = []
    configure_scheduling(objects, ASKED)
    try:
        for item in objects:
            cluster.apply(item, manager=MANAGER)
        generations = [cluster.apply(item, manager=MANAGER)["metadata"].get("generation") for item in objects]
        again = [cluster.apply(item, manager=MANAGER)["metadata"].get("generation") for item in objects]
        assert again == generations
        team = cluster.get(Ref.of(objects[1]))
        assert team
        assert team["spec"]["weight"] == 2
        assert team["spec"]["capability"] == {"cpu": "4", "nvidia.com/gpu": "2"}
    finally:
        for item in reversed(objects):
            if live := cluster.get(Ref.of(item)):
                vanish(cluster, live)


def test_the_queue_that_the_scheduler_made_is_owned_by_somebody_who_may_be_overruled(cluster: Cluster) -> None:
    default = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "default")
    live = cluster.get(default)
    assert live
    owners = {item["manager"] for item in live["metadata"]["managedFields"] if "f:spec" in item["fieldsV1"]}
    assert owners
    assert {name for name in owners if not may_be_overwritten(name)} == set()
    objects: list[Object] = []
    configure_scheduling(objects, SchedulingSettings(queues=({"name": "default", "weight": 7},)))
    tried = cluster.apply(objects[0], manager=MANAGER, force=True, dry_run=True)
    assert tried["spec"]["weight"] == 7


def test_the_configuration_is_one_that_the_api_server_takes_and_holds_what_was_asked_for(cluster: Cluster) -> None:
    live = cluster.get(LIVE)
    assert live
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": dict(live["data"])}
    wanted["metadata"] = {"name": LIVE.name, "namespace": LIVE.namespace}
    actions = ("enqueue", "allocate", "preempt", "backfill")
    configure_scheduling([wanted], SchedulingSettings(actions=actions))
    tried = cluster.apply(wanted, manager=MANAGER, force=True, dry_run=True)
    parsed = yaml.safe_load(tried["data"][CONFIGURATION])
    assert parsed["actions"] == ", ".join(actions)
    assert parsed["tiers"] == yaml.safe_load(live["data"][CONFIGURATION])["tiers"]
    assert cluster.get(LIVE) == live
