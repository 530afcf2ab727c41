"""Pods that do not end or find no name, containers of another name, and images that no registry has."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.manifests import findings, judged, made, reasons, tfjob, vcjob

INJECT = "sidecar.istio.io/inject"


def space(**labels: str) -> Object:
    return made("v1", "Namespace", "team-a", namespace="", metadata={"labels": labels})


def marked(field: str, value: str) -> Object:
    return {"metadata": {field: {INJECT: value}}}


def team(template: Object | None, *labels: Object) -> list[str]:
    """Reasons in namespace team-b, which has these labels."""
    job = tfjob(template)
    job["metadata"]["namespace"] = "team-b"
    spaces = [{**item, "metadata": {**item["metadata"], "name": "team-b"}} for item in labels]
    return reasons(job, around=spaces)


def test_a_namespace_that_injects_a_proxy_keeps_jobs_from_ending() -> None:
    assert team(None, space(**{"istio-injection": "enabled"})) == ["SidecarInjected"]
    assert team(None, space(**{"istio.io/rev": "1-22"})) == ["SidecarInjected"]
    assert team(None, space(**{"istio-injection": "disabled", "istio.io/rev": "1-22"})) == []
    assert team(None, space()) == []


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_pod_decides_before_its_namespace(field: str) -> None:
    assert team(marked(field, "false"), space(**{"istio-injection": "enabled"})) == []
    assert team(marked(field, "true"), space()) == ["SidecarInjected"]


def test_what_is_not_to_end_may_have_a_proxy() -> None:
    template = {**marked("labels", "true"), "spec": {"containers": []}}
    assert reasons(made("apps/v1", "Deployment", "d", spec={"template": template})) == []
    assert reasons(made("batch/v1", "Job", "j", spec={"template": template})) == ["SidecarInjected"]


def test_without_a_cluster_injection_by_the_namespace_is_not_judged() -> None:
    answer = judged(tfjob(), offline=True)
    assert not answer.warned
    assert "injects sidecars" in answer.unread[0].message
    decided = judged(tfjob(marked("labels", "true")), space(), offline=True)
    assert [item.reason for item in decided.manifests[0].findings] == ["SidecarInjected"]


def test_a_namespace_in_the_files_decides_without_a_cluster() -> None:
    there = space(**{"istio-injection": "enabled"})
    assert reasons(tfjob(), there, offline=True) == ["SidecarInjected"]
    assert reasons(tfjob(marked("annotations", "false")), there, offline=True) == []
    switched_off_at_the_job = {**tfjob(), "metadata": {**tfjob()["metadata"], "annotations": {INJECT: "false"}}}
    assert reasons(switched_off_at_the_job, there, offline=True) == ["SidecarInjected"]
    assert reasons(tfjob(), space(), offline=True) == []


def named(*names: str) -> Object:
    return {"spec": {"containers": [{"name": name, "resources": {"requests": {"cpu": 1}}} for name in names]}}


def test_a_role_needs_the_container_of_its_operator() -> None:
    (found,) = findings(tfjob(named("train")))
    assert (found.reason, found.blocks) == ("ContainerNameMissing", True)
    assert "the name tensorflow" in found.problem.found
    assert reasons(tfjob(named("train", "logs"))) == ["ContainerNameMissing"]
    assert reasons(tfjob(named("logs", "tensorflow"))) == []
    assert reasons(vcjob(named("train"))) == []
    mpi = {"Launcher": {"template": named("l")}, "Worker": {"template": named("w")}}
    assert reasons(made("kubeflow.org/v1", "MPIJob", "m", spec={"mpiReplicaSpecs": mpi}), offline=True) == []


@pytest.mark.parametrize(
    ("workers", "more", "expected"),
    [
        (2, {"hostNetwork": True}, ["HostDns"]),
        (2, {"hostNetwork": True, "dnsPolicy": "ClusterFirst"}, ["HostDns"]),
        (2, {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}, []),
        (2, {"hostNetwork": True, "dnsConfig": {"nameservers": ["10.96.0.10"]}}, []),
        (2, {"hostNetwork": False}, []),
        (1, {"hostNetwork": True}, []),
    ],
)
def test_pods_on_the_network_of_their_host_resolve_names_of_services(
    workers: int, more: Object, expected: list[str]
) -> None:
    assert reasons(tfjob({"spec": more}, workers=workers)) == expected
    assert reasons(vcjob({"spec": more}, workers=workers)) == []  # Volcano's webhook sets the policy


def test_an_image_that_is_gone_is_named_with_its_replacement() -> None:
    def job(image: str) -> Object:
        container = {"name": "tensorflow", "image": image, "resources": {"requests": {"cpu": 1}}}
        return tfjob({"spec": {"containers": [container]}})

    (found,) = findings(job("gcr.io/ml-pipeline/mysql:8.0"), offline=True)
    assert found.reason == "ImageGone"
    assert "spec.tfReplicaSpecs.Worker.template.spec.containers[0].image" in found.problem.found
    assert "use docker.io/library/mysql:8.0" in found.problem.todo
    assert reasons(job("mysql:8.0"), offline=True) == []
