"""What components of others must have, so that the rest can be installed beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.existing import needs
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.stored import Stored

ADMISSION = "admissionregistration.k8s.io/v1"
ISSUER: Object = {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "a", "namespace": "n"}}
GANG = {"actions": "enqueue, allocate", "tiers": [{"plugins": [{"name": "gang"}, {"name": "vendor"}]}]}


class Cluster(Stored):
    """Live objects and served kinds."""

    def __init__(self, *objects: Object, kinds: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(*objects)
        self.served = kinds or {}

    def kinds(self, api_version: str) -> dict[str, Resource]:
        names = self.served.get(api_version, ())
        return {kind: Resource(api_version, kind, f"{kind}s".lower(), namespaced=True) for kind in names}

    def all_kinds(self) -> dict[str, dict[str, Resource]]:
        return {version: self.kinds(version) for version in self.served}


@pytest.fixture(autouse=True)
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[Ref]]:
    """The webhook configurations that were called; all answer."""
    calls: list[list[Ref]] = []

    def answer(_cluster: Any, refs: list[Ref], *_: Any) -> tuple[()]:
        calls.append(refs)
        return ()

    monkeypatch.setattr(needs, "wait_for_webhooks", answer)
    return calls


def asked(cluster: Any, *objects: Object, existing: Sequence[str], **variables: Any) -> list[str]:
    """The problems beside existing components of which a workload runs."""
    settings = parse({"kubeflow_profile": "full", "kubeflow_existing": [*existing]} | variables)
    for name in (item for item in settings.existing if item != "volcano"):
        for ref in settings.component(name).workloads:
            cluster.objects.setdefault(ref, running(ref))
    return [str(problem) for problem in needs.unmet_needs(cluster, settings, {"some": objects}, {}, silent)]


def running(ref: Ref, image: str = "a:1", **labels: str) -> Object:
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": image}]}}
    return named(ref.kind, ref.name, ref.namespace, ref.api_version, spec={"template": template})


def named(kind: str, name: str, namespace: str = "", api_version: str = "v1", **more: Any) -> Object:
    return new_object(api_version, kind, name, namespace, **more)


def crd(name: str) -> Object:
    return named("CustomResourceDefinition", name, api_version="apiextensions.k8s.io/v1")


def test_nothing_is_asked_without_existing_components(called: list[list[Ref]]) -> None:
    assert asked(None, ISSUER, existing=[]) == []
    assert called == []


def test_a_version_that_objects_have_and_that_is_not_served_is_named_with_them() -> None:
    old = Cluster(kinds={"cert-manager.io/v1alpha2": ["Issuer"]})
    (problem,) = asked(old, ISSUER, existing=["cert-manager"])
    assert "Issuer of cert-manager.io/v1" in problem
    assert "Issuer n/a" in problem
    assert "kubeflow_adopt: [cert-manager]" in problem
    assert asked(Cluster(kinds={"cert-manager.io/v1": ["Issuer"]}), ISSUER, existing=["cert-manager"]) == []


def test_a_crd_that_a_workload_has_rights_for_is_needed_although_no_object_has_its_kind() -> None:
    rules = [{"apiGroups": ["networking.istio.io"], "resources": ["virtualservices"], "verbs": ["*"]}]
    subject = {"kind": "ServiceAccount", "name": "a", "namespace": "n"}
    rbac = "rbac.authorization.k8s.io/v1"
    objects = (
        named("ServiceAccount", "a", "n"),
        named("ClusterRole", "r", api_version=rbac, rules=rules),
        named(
            "ClusterRoleBinding",
            "b",
            api_version=rbac,
            roleRef={"kind": "ClusterRole", "name": "r"},
            subjects=[subject],
        ),
        named(
            "Deployment",
            "d",
            "n",
            "apps/v1",
            spec={"template": {"spec": {"serviceAccountName": "a", "containers": []}}},
        ),
    )
    (problem,) = asked(Cluster(), *objects, existing=["istio-crds"])
    assert "CRD virtualservices.networking.istio.io" in problem
    there = Cluster(crd("virtualservices.networking.istio.io"))
    assert asked(there, *objects, existing=["istio-crds"]) == []


def test_a_namespace_into_which_objects_go_must_exist() -> None:
    config = named("ConfigMap", "c", "istio-system")
    problems = asked(Cluster(), config, existing=["istio"])
    assert any("istio-system, " in problem for problem in problems)
    assert asked(Cluster(named("Namespace", "istio-system")), config, existing=["istio"]) == []


def test_the_mesh_must_have_the_providers_that_policies_name() -> None:
    policy = named(
        "AuthorizationPolicy",
        "p",
        "istio-system",
        "security.istio.io/v1beta1",
        spec={"action": "CUSTOM", "provider": {"name": "oauth2-proxy"}},
    )
    kinds = {"security.istio.io/v1beta1": ["AuthorizationPolicy"]}
    space = named("Namespace", "istio-system")
    (problem,) = asked(Cluster(space, kinds=kinds), policy, existing=["istio"])
    assert "provider oauth2-proxy" in problem
    mesh = yaml.safe_dump({"extensionProviders": [{"name": "oauth2-proxy"}]})
    config = named("ConfigMap", "istio", "istio-system", data={"mesh": mesh})
    assert asked(Cluster(space, config, kinds=kinds), policy, existing=["istio"]) == []
    for odd in ("[", "[a]", "extensionProviders: {a: b}", "a: 2024-13-45"):
        config = named("ConfigMap", "istio", "istio-system", data={"mesh": odd})
        (problem,) = asked(Cluster(space, config, kinds=kinds), policy, existing=["istio"])
        assert "provider oauth2-proxy" in problem, odd


def test_webhooks_are_called_by_name_and_by_the_kinds_that_they_intercept(called: list[list[Ref]]) -> None:
    rules = [{"apiGroups": ["cert-manager.io"]}]
    hooks = (
        named("ValidatingWebhookConfiguration", "by-chart", api_version=ADMISSION, webhooks=[{"rules": rules}]),
        named("MutatingWebhookConfiguration", "cert-manager-webhook", api_version=ADMISSION, webhooks=[]),
        named(
            "MutatingWebhookConfiguration", "other", api_version=ADMISSION, webhooks=[{"rules": [{"apiGroups": [""]}]}]
        ),
    )
    assert asked(Cluster(*hooks), existing=["cert-manager"]) == []
    assert [ref.name for ref in called[0]] == ["cert-manager-webhook", "by-chart"]


def scheduler(
    namespace: str = "kube-system", name: str = "volcano-scheduler", *args: str, label: bool = True
) -> Object:
    container = {
        "name": "s",
        "image": "swr.example.com/volcano/vc-scheduler:1.15.8",
        "args": ["--scheduler-conf=/conf/volcano-scheduler.conf", *args],
        "volumeMounts": [{"name": "conf", "mountPath": "/conf"}],
    }
    volumes = [{"name": "conf", "configMap": {"name": "volcano-scheduler-configmap"}}]
    found = named("Deployment", name, namespace, "apps/v1", spec={"replicas": 1})
    found["spec"]["template"] = {"spec": {"containers": [container], "volumes": volumes}}
    found["metadata"] |= {"generation": 1} | ({"labels": {"app": "volcano-scheduler"}} if label else {})
    found["status"] = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    found["status"]["readyReplicas"] = 1
    found["status"]["conditions"] = [{"type": "Available", "status": "True"}]
    return found


def configured(document: Any = GANG, namespace: str = "kube-system") -> Object:
    data = {"volcano-scheduler.conf": yaml.safe_dump(document)}
    return named("ConfigMap", "volcano-scheduler-configmap", namespace, data=data)


def volcano(*objects: Object, **variables: Any) -> list[str]:
    cluster = Cluster(*objects, kinds={"scheduling.volcano.sh/v1beta1": ["PodGroup", "Queue"]})
    return asked(cluster, existing=["volcano"], **variables)


def test_a_volcano_of_a_vendor_in_another_namespace_is_found_and_served() -> None:
    assert volcano(scheduler(), configured()) == []
    assert volcano(scheduler(label=False), configured(), volcano_namespace="kube-system") == []


def test_what_keeps_gangs_from_starting_is_named_all_at_once() -> None:
    off = {"actions": "enqueue, allocate", "tiers": [{"plugins": [{"name": "gang", "enableJobReady": False}]}]}
    unready = scheduler("kube-system", "volcano-scheduler", "--scheduler-name=other")
    unready["status"] = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1}
    text = "\n".join(volcano(unready, configured(off)))
    for words in ("is not ready", "schedulerName other", "plugin gang has enableJobReady: false"):
        assert words in text
    (problem,) = volcano(scheduler(), configured({"actions": "enqueue", "tiers": []}))
    assert "plugin gang" in problem


def test_several_names_of_the_scheduler_are_one_flag_several_times() -> None:
    several = scheduler("kube-system", "volcano-scheduler", "--scheduler-name=volcano", "--scheduler-name=other")
    assert volcano(several, configured()) == []


def test_no_scheduler_and_several_ones_are_told_apart() -> None:
    (none,) = volcano()
    assert "has 0 schedulers" in none
    second = scheduler("batch-system"), configured(namespace="batch-system")
    (two,) = volcano(scheduler(), configured(), *second)
    assert "set volcano_namespace" in two
    assert volcano(scheduler(), configured(), *second, volcano_namespace="batch-system") == []


def test_kinds_of_an_old_volcano_are_too_few() -> None:
    cluster = Cluster(scheduler(), configured(), kinds={"scheduling.volcano.sh/v1beta1": ["PodGroup"]})
    (problem,) = asked(cluster, existing=["volcano"])
    assert "Queue of scheduling.volcano.sh/v1beta1" in problem


def test_without_gang_scheduling_volcano_is_not_asked() -> None:
    assert asked(Cluster(), existing=["volcano"], gang_scheduling_scheduler="none") == []
