"""What adoption would leave behind: programs of the component in other places, and what is taken from them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.existing.elsewhere import left_behind
from kubeflow_volcano.rollout.settings.settings import parse

APPS, RBAC = "apps/v1", "rbac.authorization.k8s.io/v1"
HOOKS = "admissionregistration.k8s.io/v1"


def workload(place: str, image: str, *arguments: str, replicas: int = 1, revision: str = "") -> Object:
    namespace, _, name = place.partition("/")
    container: Object = {"name": "main", "image": image, "args": list(arguments)}
    pods: Object = {"serviceAccountName": name, "containers": [container]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pods}
    meta = {"namespace": namespace, "name": name, "labels": {"istio.io/rev": revision} if revision else {}}
    return {
        "apiVersion": APPS,
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"replicas": replicas, "template": template},
    }


def binding(name: str, *accounts: str) -> Object:
    subjects = [
        {"kind": "ServiceAccount", "namespace": a.partition("/")[0], "name": a.partition("/")[2]} for a in accounts
    ]
    return {"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": subjects}


def hook(name: str, namespace: str, service: str) -> Object:
    call = {"name": "h.example.org", "clientConfig": {"service": {"namespace": namespace, "name": service}}}
    kind = "ValidatingWebhookConfiguration"
    return {"apiVersion": HOOKS, "kind": kind, "metadata": {"name": name}, "webhooks": [call]}


def service(place: str, app: str) -> Object:
    namespace, _, name = place.partition("/")
    meta = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": app}}}


SCHEDULER = workload("volcano-system/volcano-scheduler", "docker.io/volcanosh/vc-scheduler:v1.10.0")
CONTROLLERS = workload("volcano-system/volcano-controllers", "docker.io/volcanosh/vc-controller-manager:v1.10.0")
DECLARED = (
    SCHEDULER,
    CONTROLLERS,
    binding("volcano-scheduler-role", "volcano-system/volcano-scheduler"),
    binding("volcano-controllers-role", "volcano-system/volcano-controllers"),
)
OLD = "volcanosh/vc-scheduler:v1.8.0"


def asked(*live: Object, declared: tuple[Object, ...] = DECLARED, **originals: str) -> list[Problem]:
    class Cluster:
        def get(self, ref: Ref) -> Object | None:
            return next((obj for obj in live if Ref.of(obj) == ref), None)

        def list(self, api_version: str, kind: str) -> Listing:
            return Listing(tuple(obj for obj in live if (obj["apiVersion"], obj["kind"]) == (api_version, kind)), "1")

    cluster: Any = Cluster()
    return [*left_behind(cluster, parse({}).volcano, declared, originals)]


def test_a_scheduler_whose_binding_moves_is_named_with_the_commands_that_end_it() -> None:
    (problem,) = asked(
        workload("old/volcano-scheduler", "registry.local/own/scheduler:1"),
        workload("old/volcano-admission", "volcanosh/vc-webhook-manager:v1.8.0"),
        binding("volcano-scheduler-role", "old/volcano-scheduler"),
        binding("theirs", "old/volcano-scheduler"),
        binding("shared", "old/volcano-scheduler", "other/robot"),
        service("old/hook", "volcano-scheduler"),
        hook("pods-validate", "old", "hook"),
        hook("of-others", "elsewhere", "hook"),
    )
    for words in ("Deployment old/volcano-scheduler", "ClusterRoleBinding volcano-scheduler-role", "volcano-system"):
        assert words in problem.found
    commands = [part for part in problem.todo.split("; ") if "kubectl" in part]
    assert "kubectl delete validatingwebhookconfiguration pods-validate" in commands[0]
    assert commands[1] == "kubectl -n old delete deployment volcano-scheduler"
    assert "kubectl delete clusterrolebinding theirs" in commands[2]
    assert "kubectl -n old delete service hook" in commands[3]
    assert "shared" not in problem.todo
    assert "of-others" not in problem.todo


def test_of_services_those_are_deleted_that_lead_to_these_pods_alone() -> None:
    """Others would have no endpoint after the adoption, which C9 finds."""
    others, both = service("old/by-flux", "vc-scheduler"), service("old/both", "")
    others["metadata"]["labels"] = {"kustomize.toolkit.fluxcd.io/name": "apps"}
    both["spec"]["selector"] = {"team": "a"}
    old, beside = workload("old/vc-scheduler", OLD), workload("old/vc-exporter", "example.org/exporter:1")
    for obj in (old, beside):
        obj["spec"]["template"]["metadata"]["labels"]["team"] = "a"
    adopted = workload("volcano-system/vc", OLD)
    (problem,) = asked(
        *(old, beside, adopted, others, both),
        *(service("old/metrics", "vc-scheduler"), service("team/metrics", "vc-scheduler")),
        *(
            service("old/by-hand", "vc-scheduler") | {"spec": {}},
            service("volcano-system/volcano-scheduler-service", "vc"),
        ),
        declared=(*DECLARED, service("volcano-system/volcano-scheduler-service", "volcano-scheduler")),
    )
    commands = [part for part in problem.todo.split("; ") if "delete service" in part]
    assert [part.partition(".")[0] for part in commands] == ["kubectl -n old delete service metrics"]


@pytest.mark.parametrize("image", [OLD, "m.daocloud.io/docker.io/volcanosh/vc-scheduler:v1.8.0"])
@pytest.mark.parametrize("place", ["old/vc-scheduler", "volcano-system/vc-scheduler"])
def test_a_scheduler_with_bindings_of_other_names_is_found_by_its_program(place: str, image: str) -> None:
    (problem,) = asked(workload(place, image), binding("vc", place))
    assert f"Deployment {place}" in problem.found


@pytest.mark.parametrize(
    "live",
    [
        SCHEDULER,
        workload("old/batch", OLD, "--scheduler-name=batch"),
        workload("old/volcano-scheduler", OLD, replicas=0),
        workload("old/other", "example.org/another/vc-scheduler-exporter:v1"),
        workload("old/proxy", "docker.io/library/busybox:1"),
    ],
    ids=["its own", "another name", "scaled to zero", "another program", "unrelated"],
)
def test_what_may_run_beside_it_is_no_question(live: Object) -> None:
    assert asked(live) == []


def test_a_renamed_image_is_compared_by_the_name_that_upstream_gives_it() -> None:
    flat = "registry.local/flat/vc-scheduler:v1.10.0"
    declared = (workload("volcano-system/volcano-scheduler", flat), *DECLARED[1:])
    assert asked(workload("old/s", OLD), declared=declared) == []
    assert asked(workload("old/s", OLD), declared=declared, **{flat: "docker.io/volcanosh/vc-scheduler:v1.10.0"})


@pytest.mark.parametrize(("revision", "found"), [("default", 1), ("canary", 0)])
def test_another_revision_of_istio_is_meant_to_run_beside_it(revision: str, found: int) -> None:
    pilot = "docker.io/istio/pilot:1.22.1"
    declared = (
        workload("istio-system/istiod", pilot, revision="default"),
        binding("istiod-clusterrole-istio-system", "istio-system/istiod"),
    )
    live = workload("mesh/istiod", "docker.io/istio/pilot:1.20.0", revision=revision)
    assert len(asked(live, declared=declared)) == found


def test_the_deprecated_field_of_manifests_names_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = SCHEDULER["spec"]["template"]["spec"]
    monkeypatch.setitem(pods, "serviceAccount", pods["serviceAccountName"])
    monkeypatch.delitem(pods, "serviceAccountName")
    (problem,) = asked(workload("old/vc-scheduler", OLD))
    assert "volcano-system" in problem.found


def test_a_workload_without_rights_on_the_cluster_may_run_twice() -> None:
    gateway = "docker.io/istio/proxyv2:1.22.1"
    declared = (workload("istio-system/istio-ingressgateway", gateway),)
    assert asked(workload("team/gateway", gateway), declared=declared) == []


def test_a_sidecar_that_runs_a_script_from_the_same_image_is_no_second_one() -> None:
    """As this project's notifier beside an old training operator."""
    beside = workload("kubeflow/training-operator", "kubeflow/training-operator:v1")
    sidecar: Object = {"name": "notifier", "image": OLD, "command": ["sh", "-c", "true"]}
    beside["spec"]["template"]["spec"]["containers"].append(sidecar)
    assert asked(beside) == []
    sidecar["command"] = ["/vc-scheduler"]
    assert len(asked(beside)) == 1
