"""Levels of Pod Security that refuse declared pods are found before the first change, in the API server's own words."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.pod_security import ENFORCE, needed_level
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.requirements.pod_security import refused_pods
from kubeflow_volcano.rollout.settings.settings import parse

CAPABILITIES = (
    'pods "a" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities '
    '(container "istio-init" must not include "NET_ADMIN", "NET_RAW" in securityContext.capabilities.add)'
)
UNSAID = (
    'pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false '
    '(container "a" must set securityContext.allowPrivilegeEscalation=false)'
)
RANK = {"privileged": 0, "baseline": 1, "restricted": 2}


class Stored:
    """A cluster with these namespaces, whose API server enforces their labels, and `default` without one."""

    def __init__(self, level: str = "privileged", /, **spaces: Mapping[str, str]) -> None:
        self.level, self.spaces = level, {name.replace("_", "-"): labels for name, labels in spaces.items()}
        self.asked: list[Object] = []

    def list(self, _: str, kind: str, *, brief: bool) -> SimpleNamespace:
        assert (kind, brief) == ("Namespace", True)
        return SimpleNamespace(
            items=[{"metadata": {"name": name, "labels": labels}} for name, labels in self.spaces.items()]
        )

    def create(self, pod: Object, *, dry_run: bool, deadline: object) -> Object:
        assert dry_run
        assert deadline
        self.asked.append(pod)
        level = RANK[self.spaces[pod["metadata"]["namespace"]].get(ENFORCE, self.level)]
        spec = pod["spec"]
        added = [
            item["securityContext"]["capabilities"].get("add")
            for item in spec.get("initContainers", ())
            if item.get("securityContext")
        ]
        if level >= 1 and (spec.get("hostNetwork") or any(added)):
            raise ApiError(HTTPStatus.FORBIDDEN, "Forbidden", CAPABILITIES)
        if level >= 2 and "securityContext" not in spec:
            raise ApiError(HTTPStatus.FORBIDDEN, "Forbidden", UNSAID)
        return pod


class Strict(Stored):
    """A cluster whose policies of another kind refuse every pod."""

    def create(self, pod: Object, *, dry_run: bool, deadline: object) -> Object:
        super().create(pod, dry_run=dry_run, deadline=deadline)
        raise ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", "admission webhook does not support dry run")


def workload(name: str = "a", namespace: str = "kubeflow", **spec: Any) -> Object:
    pods = {"containers": [{"name": "a", "image": "a", "resources": {"limits": {"cpu": "64"}}}], **spec}
    template = {"metadata": {"labels": {"app": name}}, "spec": pods}
    return new_object("apps/v1", "Deployment", name, namespace, spec={"template": template})


def space(name: str = "kubeflow", **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def injector(values: str = '{"istio_cni": {"enabled": false}}') -> Object:
    return new_object("v1", "ConfigMap", "istio-sidecar-injector", "istio-system", data={"values": values})


def judged(cluster: Any, *objects: Object, **variables: Any) -> tuple[list[Any], list[str]]:
    said: list[str] = []
    settings = parse({"kubeflow_profile": "full", **variables})
    return [*refused_pods(cluster, settings.namespace_labels, {"katib": objects or (workload(),)}, said.append)], said


def test_an_existing_namespace_that_refuses_the_pods_is_told_with_the_command() -> None:
    (problem,), _ = judged(Stored(kubeflow={ENFORCE: "restricted"}), workload(), workload("b"))
    assert "restricted:latest " in problem.found
    assert "Deployment kubeflow/a, Deployment kubeflow/b" in problem.found
    assert "allowPrivilegeEscalation" in problem.found
    assert f" namespace kubeflow {ENFORCE}=baseline --overwrite" in problem.todo


def test_pods_that_meet_the_level_pass() -> None:
    assert judged(Stored(kubeflow={ENFORCE: "restricted"}), workload(securityContext={})) == ([], [])
    assert judged(Stored(kubeflow={ENFORCE: "baseline"})) == ([], [])


def test_where_every_pod_is_admitted_one_question_is_enough() -> None:
    cluster = Stored(kubeflow={})
    assert judged(cluster, *(workload(str(number)) for number in range(9))) == ([], [])
    assert len(cluster.asked) == 1
    cluster = Stored(kubeflow={ENFORCE: "privileged"})
    assert judged(cluster) == ([], [])
    assert not cluster.asked


def test_the_default_of_the_api_server_is_asked_for_in_a_namespace_without_a_label() -> None:
    cluster = Stored("restricted", kube_public={}, default={}, other={ENFORCE: "privileged"})
    (problem,), _ = judged(cluster)
    assert {pod["metadata"]["namespace"] for pod in cluster.asked} == {"default"}
    assert "AdmissionConfiguration" in problem.found
    assert f"{ENFORCE}: baseline in kubeflow_namespace_labels" in problem.todo


def test_a_namespace_to_be_made_with_a_label_is_asked_for_where_another_has_it() -> None:
    planned = space(**{ENFORCE: "restricted"})
    label = {"kubeflow_namespace_labels": {ENFORCE: "restricted"}}
    (problem,), _ = judged(Stored(team={ENFORCE: "restricted"}, default={}), planned, workload(), **label)
    assert "take " in problem.todo
    problems, (line,) = judged(Stored(default={}), planned, workload(), **label)
    assert problems == []
    assert "not known" in line
    assert judged(Stored(default={}), planned, workload()) == ([], []), "the release's own label, which upstream tested"


def test_what_the_manifests_set_counts_before_what_the_namespace_has() -> None:
    cluster = Stored(kubeflow={ENFORCE: "restricted"})
    assert judged(cluster, space(**{ENFORCE: "privileged"}), workload()) == ([], [])
    assert not cluster.asked


@pytest.mark.parametrize(
    ("values", "level"),
    [
        ('{"istio_cni": {"enabled": false}}', "privileged"),
        ('{"pilot": {"cni": {"enabled": false}}}', "privileged"),
        ('{"pilot": {"cni": {"enabled": true}}}', ""),
        ("no json", ""),
    ],
)
def test_what_the_releases_injector_adds_is_part_of_the_pod(values: str, level: str) -> None:
    cluster = Stored(kubeflow={ENFORCE: "baseline"}, istio_system={})
    injected = space(**{"istio-injection": "enabled"})
    problems, _ = judged(cluster, injected, injector(values), workload())
    assert [f"{ENFORCE}={level} " in item.todo for item in problems] == ([True] if level else [])
    out = {"labels": {"sidecar.istio.io/inject": "false"}}
    opted = workload()
    opted["spec"]["template"]["metadata"] = out
    assert judged(cluster, injected, injector(values), opted)[0] == []


def test_fields_that_others_would_refuse_are_left_out_and_refusals_of_others_are_not_judged() -> None:
    cluster = Stored(kubeflow={ENFORCE: "baseline"})
    judged(cluster, workload(serviceAccountName="absent", priorityClassName="absent", runtimeClassName="kata"))
    spec = cluster.asked[-1]["spec"]
    assert spec.keys() == {"containers", "runtimeClassName", "automountServiceAccountToken"}
    assert "resources" not in spec["containers"][0]
    assert judged(Strict(kubeflow={}), workload()) == ([], [])


def test_the_level_that_is_needed_follows_from_what_was_refused() -> None:
    assert needed_level(UNSAID) == "baseline"
    assert needed_level(CAPABILITIES) == "privileged"
    assert needed_level(UNSAID.replace("allowPrivilegeEscalation !=", "hostPath volumes, x !=")) == "privileged"
