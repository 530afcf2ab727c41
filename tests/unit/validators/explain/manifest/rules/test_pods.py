"""Pods that do not end, and images that no registry has."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.manifests import findings, judged, made, reasons, tfjob

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
    assert "the namespace injects sidecars" in answer.unread[0].message
    decided = judged(tfjob(marked("labels", "true")), space(), offline=True)
    assert [item.reason for item in decided.manifests[0].findings] == ["SidecarInjected"]


def test_an_image_that_is_gone_is_named_with_its_replacement() -> None:
    def job(image: str) -> Object:
        return tfjob({"spec": {"containers": [{"name": "c", "image": image, "resources": {"requests": {"cpu": 1}}}]}})

    (found,) = findings(job("gcr.io/ml-pipeline/mysql:8.0"), offline=True)
    assert found.reason == "ImageGone"
    assert "spec.tfReplicaSpecs.Worker.template.spec.containers[0].image" in found.problem.found
    assert "use docker.io/library/mysql:8.0" in found.problem.todo
    assert reasons(job("mysql:8.0"), offline=True) == []
