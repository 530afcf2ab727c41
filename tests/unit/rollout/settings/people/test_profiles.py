"""Teams: what is accepted, and every contradiction between profiles, quotas, queues and priority classes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.catalog.schedulers import reads_queue_of_namespace
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.people.profiles import gives_queues, queue_advice, queue_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse


def team(name: str = "vision", **more: Any) -> dict[str, Any]:
    return {"name": name, "owner": "ada@example.org", **more}


def settings(*profiles: Any, **variables: Any) -> Settings:
    return parse({"kubeflow_profile": "full", "kubeflow_profiles": [*profiles], **variables})


def problems(*profiles: Any, **variables: Any) -> list[str]:
    try:
        settings(*profiles, **variables)
    except InvalidInput as error:
        return [str(problem) for problem in error.problems]
    return []


WHOLE = team(
    contributors=[{"user": "bob@example.org"}, {"user": "bob@example.org", "role": "view"}],
    quota={
        "cpu": 40,
        "requests.nvidia.com/gpu": 8,
        "count/pods": 50,
        "fast.storageclass.storage.k8s.io/requests.storage": "1Ti",
    },
    queue={"weight": 3, "capability": {"cpu": 40, "nvidia.com/gpu": 8}, "guarantee": {"cpu": 4}, "reclaimable": False},
    priority_class={"value": 100},
)


def test_a_whole_team_is_accepted_and_its_queue_is_one_of_volcano() -> None:
    found = settings(WHOLE, team("speech", queue={"name": "vision"}), team("plain"), volcano_queues=[{"name": "other"}])
    assert [item["name"] for item in found.scheduling.queues] == ["other", "vision"]
    assert found.scheduling.of_profiles == ("vision",)
    assert [queue_of(item) for item in found.profiles] == ["vision", "vision", ""]


@pytest.mark.parametrize("queue", [{"name": "shared"}, {"name": "default"}])
def test_a_queue_of_others_is_not_declared_again(queue: dict[str, str]) -> None:
    assert settings(team(queue=queue), volcano_queues=[{"name": "shared"}]).scheduling.of_profiles == ()


@pytest.mark.parametrize(
    ("profiles", "variables", "words"),
    [
        ([team(), team()], {}, "kubeflow_profiles names vision 2 times"),
        ([team("mine")], {"kubeflow_user_namespace": "mine"}, "names mine, the first user's profile"),
        ([team("kubeflow")], {}, "kubeflow_profiles names kubeflow, the namespace of"),
        ([team("kube-public")], {}, "the namespace of Kubernetes itself"),
        ([team(contributors=[{"user": "ada@example.org"}])], {}, "ada@example.org owns vision and is a contributor"),
        (
            [team(contributors=[{"user": "b.b@example.org"}, {"user": "B-B@example.org"}])],
            {},
            "has b.b@example.org, B-B@example.org 2 times with one role",
        ),
        ([team(quota={"nvidia.com/gpu": 8})], {}, "has nvidia.com/gpu, by which Kubernetes counts nothing"),
        ([team(quota={"cpu": "many"})], {}, "the quota of vision: "),
        ([team(quota={"cpu": -1})], {}, "the quota of vision is negative for cpu"),
        ([team(container_defaults={"requests": {"cpu": "some"}})], {}, "container_defaults of vision: "),
        ([team(container_defaults={"limits": {"cpu": -1}})], {}, "container_defaults of vision are negative for cpu"),
        (
            [team(quota={"cpu": 1}, container_defaults={"requests": {"cpu": 2}})],
            {},
            "container_defaults of vision have 2 cpu as requests, and the quota is 1",
        ),
        (
            [team(container_defaults={"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}})],
            {},
            "container_defaults of vision request 2147483648 memory, and limit it to 1073741824",
        ),
        (
            [team(priority_class={"value": 1}), team("speech", priority_class={"value": 2, "name": "vision"})],
            {},
            "kubeflow_profiles has the priority class vision 2 times",
        ),
        (
            [team(priority_class={"value": 1})],
            {"volcano_priority_classes": [{"name": "vision", "value": 1}]},
            "volcano_priority_classes and kubeflow_profiles declare the priority class vision",
        ),
        (
            [team(queue={})],
            {"gang_scheduling_scheduler": "none"},
            "with a queue, and gang_scheduling_scheduler is none",
        ),
        ([team(queue={"weight": 2})], {"kubeflow_existing": ["volcano"]}, "with volcano in kubeflow_existing"),
        (
            [team(queue={"weight": 2})],
            {"volcano_queues": [{"name": "vision"}]},
            "volcano_queues and vision in kubeflow_profiles describe queue vision",
        ),
        (
            [team(queue={"name": "gpu"})],
            {"volcano_queues": [{"name": "gpu", "state": "closed"}]},
            "vision has queue gpu, which volcano_queues has as closed",
        ),
        (
            [team(queue={"weight": 1}), team("speech", queue={"name": "vision", "weight": 2})],
            {},
            "kubeflow_profiles describes queue vision 2 times",
        ),
        (
            [team(queue={"parent": "lab"})],
            {},
            "kubeflow_profiles: the parent of queue vision is lab, which does not exist",
        ),
        (
            [team(queue={"deserved": {"cpu": 1}})],
            {"volcano_version": "1.8.0", "kubeflow_release": "1.6.1"},
            "kubeflow_profiles: deserved of queue vision, which Volcano 1.8.0 does not support",
        ),
    ],
)
def test_contradictions_are_refused(profiles: list[Any], variables: dict[str, Any], words: str) -> None:
    (problem,) = problems(*profiles, **variables)
    assert words in problem


@pytest.mark.parametrize(
    ("quota", "queue", "words"),
    [
        ({"cpu": 4}, {"capability": {"cpu": 8}}, "has 8 cpu as capability, and the quota of vision is 4"),
        ({"requests.memory": "1Gi"}, {"guarantee": {"memory": "2Gi"}}, "memory as guarantee"),
        ({"cpu": 8, "requests.cpu": 2}, {"deserved": {"cpu": 4}}, "the quota of vision is 2"),
        ({"requests.nvidia.com/gpu": 0}, {"capability": {"nvidia.com/gpu": 1}}, "nvidia.com/gpu as capability"),
        ({"cpu": 4}, {"capability": {"cpu": "4000m"}}, ""),
        ({"limits.cpu": 4}, {"capability": {"cpu": 8}}, ""),
        ({"pods": 4}, {"capability": {"pods": 8}}, ""),
        ({"cpu": 8}, {"capability": {"cpu": 4}}, ""),
    ],
)
def test_a_queue_gives_at_most_what_the_quota_admits(quota: Any, queue: Any, words: str) -> None:
    found = problems(team(quota=quota, queue=queue))
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_quotas_of_teams_with_one_queue_count_together() -> None:
    queue = {"capability": {"cpu": 8}}
    other = team("speech", queue={"name": "vision"}, quota={"cpu": 2})
    (problem,) = problems(team(queue=queue, quota={"cpu": 4}), other)
    assert re.search("vision, speech .* 6", problem)
    assert problems(team(queue=queue, quota={"cpu": 6}), other) == []
    assert problems(team(queue=queue, quota={"cpu": 4}), team("speech", queue={"name": "vision"})) == []


def test_teams_need_the_profile_controller() -> None:
    found = problems(team(), kubeflow_components=["local-path"])
    assert "profiles is not" in "\n".join(found)


@pytest.mark.parametrize(
    ("version", "reads"),
    [("1.6.0", False), ("1.7.0", True), ("1.8.2", True), ("1.11.2", True), ("1.12.0", False), ("1.15.1", False)],
)
def test_the_advice_says_what_that_volcano_does(version: str, reads: bool) -> None:  # noqa: FBT001  a row of the table
    assert reads_queue_of_namespace(version) is reads
    teams = settings(team(queue={}), team("plain")).profiles
    (text,) = queue_advice(teams, version, by_policy=False)
    assert ": vision (vision)" in text
    assert (f"{version} does not" in text) is not reads
    assert [*queue_advice(settings(team()).profiles, version, by_policy=True)] == []
    (text,) = queue_advice(teams, version, ("volcano",), by_policy=False)
    assert "of others" in text
    for operator, writes in (("1.7.0", False), ("1.8.1", True), ("1.9.4", True)):
        (text,) = queue_advice(teams, version, operator=operator, by_policy=False)
        assert (operator in text) is (reads and writes)
        assert gives_queues(version, (), operator) is (reads and not writes)
    for existing in ((), ("volcano",)):
        (text,) = queue_advice(teams, version, existing, by_policy=True)
        assert "default" in text
        assert "Volcano" not in text
