"""Teams in upstream's manifests of the profile controller, for each release that is at hand."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.people.teams import DEFAULTS, add_teams, unmet_teams, without_defaults_of_others
from kubeflow_volcano.rollout.settings.settings import parse
from tests.unit.releases import Upstream

VISION = {
    "name": "vision",
    "owner": "ada@example.org",
    "contributors": [{"user": "Bob.B@example.org"}, {"user": "eve@example.org", "role": "view"}],
    "quota": {"requests.nvidia.com/gpu": 8, "cpu": "40"},
    "queue": {"weight": 2, "capability": {"nvidia.com/gpu": 8}},
    "priority_class": {"value": 1000, "preemption_policy": "Never"},
}
SPEECH = {"name": "speech", "owner": "eve@example.org", "queue": {"name": "vision"}}
PLAIN = {"name": "plain", "owner": "bob@example.org"}

GOLDEN = """\
- apiVersion: scheduling.k8s.io/v1
  kind: PriorityClass
  metadata: {name: vision}
  value: 1000
  preemptionPolicy: Never
- apiVersion: kubeflow.org/v1
  kind: Profile
  metadata: {name: vision}
  spec:
    owner: {kind: User, name: ada@example.org}
    resourceQuotaSpec:
      hard: {requests.nvidia.com/gpu: '8', cpu: '40'}
- apiVersion: v1
  kind: Namespace
  metadata:
    name: vision
    annotations: {owner: ada@example.org, scheduling.volcano.sh/queue-name: vision}
- apiVersion: v1
  kind: LimitRange
  metadata: {name: container-defaults, namespace: vision}
  spec:
    limits:
    - {type: Container, defaultRequest: {cpu: 100m}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata:
    name: user-bob-b-example-org-clusterrole-edit
    namespace: vision
    annotations: {role: edit, user: Bob.B@example.org}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeflow-edit}
  subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: Bob.B@example.org}
- apiVersion: security.istio.io/v1beta1
  kind: AuthorizationPolicy
  metadata:
    name: user-bob-b-example-org-clusterrole-edit
    namespace: vision
    annotations: {role: edit, user: Bob.B@example.org}
  spec:
    rules:
    - when:
      - key: request.headers[kubeflow-userid]
        values: [Bob.B@example.org]
      from:
      - source:
          principals:
          - cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account
          - cluster.local/ns/kubeflow/sa/ml-pipeline-ui
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata:
    name: user-eve-example-org-clusterrole-view
    namespace: vision
    annotations: {role: view, user: eve@example.org}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeflow-view}
  subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: eve@example.org}
- apiVersion: security.istio.io/v1beta1
  kind: AuthorizationPolicy
  metadata:
    name: user-eve-example-org-clusterrole-view
    namespace: vision
    annotations: {role: view, user: eve@example.org}
  spec:
    rules:
    - when:
      - key: request.headers[kubeflow-userid]
        values: [eve@example.org]
      from:
      - source:
          principals:
          - cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account
          - cluster.local/ns/kubeflow/sa/ml-pipeline-ui
- apiVersion: kubeflow.org/v1
  kind: Profile
  metadata: {name: speech}
  spec:
    owner: {kind: User, name: eve@example.org}
- apiVersion: v1
  kind: Namespace
  metadata:
    name: speech
    annotations: {owner: eve@example.org, scheduling.volcano.sh/queue-name: vision}
- apiVersion: kubeflow.org/v1
  kind: Profile
  metadata: {name: plain}
  spec:
    owner: {kind: User, name: bob@example.org}
- apiVersion: v1
  kind: Namespace
  metadata:
    name: plain
    annotations: {owner: bob@example.org}
"""


def expected(release: str) -> Any:
    """Before 1.8, access management makes policies without a source."""
    objects = yaml.safe_load(GOLDEN)
    for obj in objects:
        if obj["kind"] == "AuthorizationPolicy" and release in {"1.6.1", "1.7.0"}:
            del obj["spec"]["rules"][0]["from"]
    return objects


def test_teams_are_what_the_controller_and_access_management_know(upstream: Upstream) -> None:
    settings = upstream.settings(kubeflow_profiles=[VISION, SPEECH, PLAIN])
    plain = upstream.patched(upstream.settings())["profiles"]
    objects = upstream.patched(settings)["profiles"]
    assert objects[: len(plain)] == plain
    assert [*objects[len(plain) :]] == expected(upstream.release)


def test_a_queue_of_a_team_comes_with_volcano() -> None:
    settings = parse({"kubeflow_profile": "full", "kubeflow_profiles": [VISION, SPEECH], "volcano_queues": []})
    (queue,) = [obj for obj in patched((), "volcano", settings) if obj["kind"] == "Queue"]
    assert (queue["metadata"]["name"], queue["spec"]) == (
        "vision",
        {"weight": 2, "capability": {"nvidia.com/gpu": "8"}},
    )


@pytest.mark.parametrize(("version", "reads"), [("1.10.0", True), ("1.10.2", True), ("1.12.2", False)])
def test_admission_may_read_the_namespaces_of_teams_with_a_queue(version: str, reads: bool) -> None:  # noqa: FBT001
    role = {"kind": "ClusterRole", "metadata": {"name": "volcano-admission"}, "rules": [{"resources": ["queues"]}]}
    given = {"kubeflow_profile": "full", "kubeflow_release": "1.9.1", "volcano_version": version}
    settings = parse({**given, "kubeflow_profiles": [VISION, SPEECH, PLAIN]})
    (found,) = [obj for obj in patched([role], "volcano", settings) if obj["kind"] == "ClusterRole"]
    rule = {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["speech", "vision"], "verbs": ["get"]}
    assert found["rules"] == [{"resources": ["queues"]}, *([rule] if reads else [])]
    (plain,) = patched([role], "volcano", parse(given))
    assert plain["rules"] == role["rules"]


def test_manifests_without_the_header_are_refused() -> None:
    settings = parse({"kubeflow_profile": "full", "kubeflow_profiles": [PLAIN]})
    with pytest.raises(InvalidInput, match="which header"):
        add_teams([], settings.profiles)


LIMITED = {**PLAIN, "quota": {"limits.memory": "8Gi", "requests.cpu": 4}}


def ranges(*profiles: Any) -> list[Any]:
    objects: list[Object] = [{"kind": "ConfigMap", "data": {"USERID_HEADER": "kubeflow-userid"}}]
    add_teams(objects, parse({"kubeflow_profile": "full", "kubeflow_profiles": [*profiles]}).profiles)
    return [obj["spec"]["limits"] for obj in objects if obj["kind"] == "LimitRange"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, {"defaultRequest": {"cpu": "100m", "memory": "1Gi"}, "default": {"memory": "1Gi"}}),
        ({"container_defaults": {"requests": {"cpu": 1}}}, {"defaultRequest": {"cpu": "1"}}),
        ({"container_defaults": {}}, None),
        ({"quota": {"requests.nvidia.com/gpu": 4, "count/pods": 9}}, None),
        (
            {"container_defaults": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}},
            {"defaultRequest": {"memory": "1Gi"}, "default": {"memory": "2Gi"}},
        ),
    ],
)
def test_containers_get_what_the_quota_counts_or_what_is_declared(given: Any, made: Any) -> None:
    assert ranges({**LIMITED, **given}) == ([[{"type": "Container", **made}]] if made else [])


def test_defaults_of_others_stay_alone_unless_own_ones_are_declared() -> None:
    theirs = {"metadata": {"name": "team"}, "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]}}
    most = {"metadata": {"name": "most"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "8"}}]}}
    own = new_object("v1", "LimitRange", DEFAULTS, "plain")
    lines: list[str] = []

    def kept(profile: Any, *live: Any) -> tuple[Object, ...]:
        profiles = parse({"kubeflow_profile": "full", "kubeflow_profiles": [profile]}).profiles
        cluster: Any = Ranges(live)
        return without_defaults_of_others(cluster, [own], profiles, lines.append)

    assert kept(LIMITED, most, {**theirs, "metadata": {"name": DEFAULTS}}) == (own,)
    assert kept({**LIMITED, "container_defaults": {"requests": {"cpu": 1}}}, theirs) == (own,)
    assert not lines
    assert kept(LIMITED, most, theirs) == ()
    assert [line for line in lines if "LimitRange team" in line] == lines
    assert len(lines) == 1
    ours = {**theirs, "metadata": {"name": DEFAULTS}}
    assert kept(LIMITED, ours, theirs) == (own,)  # left out it would stay, and no record would have it
    assert DEFAULTS in lines[1]


class Ranges:
    """LimitRanges of every namespace."""

    def __init__(self, items: tuple[Object, ...]) -> None:
        self.items = items

    def get(self, ref: Ref) -> Object | None:
        return next((item for item in self.items if item["metadata"]["name"] == ref.name), None)

    def list(self, *_: Any, **__: Any) -> Any:
        return self


class Live:
    """Namespaces by owner, and queues."""

    def __init__(self, namespaces: dict[str, dict[str, str]], queues: tuple[str, ...] = ()) -> None:
        self.namespaces, self.queues = namespaces, queues

    def get(self, ref: Ref, **_: Any) -> Object | None:
        annotations = self.namespaces.get(ref.name)
        return None if annotations is None else {"metadata": {"name": ref.name, "annotations": annotations}}

    def list(self, *_: Any, **__: Any) -> Any:
        items = tuple({"metadata": {"name": name}} for name in self.queues)
        return type("Listing", (), {"items": items})


def test_a_namespace_of_others_and_a_queue_that_does_not_exist_are_refused() -> None:
    named = {**VISION, "queue": {"name": "gpu"}}
    theirs = {"kubeflow_profile": "full", "kubeflow_existing": ["volcano"]}
    settings = parse({**theirs, "kubeflow_profiles": [named, {**PLAIN, "queue": {"name": "default"}}]})
    live: Any = Live({"vision": {"owner": "other@example.org"}, "plain": {"owner": "bob@example.org"}}, ("default",))
    text = [str(problem) for problem in unmet_teams(live, settings.profiles, settings.existing, {"profiles"})]
    assert len(text) == 2
    assert re.search("namespace vision .*other@example.org", text[0])
    assert "kubeflow_profiles," in text[0]
    assert re.search("vision .*queue gpu, ", text[1])
    assert [*unmet_teams(live, settings.profiles, settings.existing, {"dex"})] == []
