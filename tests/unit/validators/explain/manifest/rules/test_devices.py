"""Devices that pods of a manifest get by ResourceClaims: what is missing, and what is not judged."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import Manifest
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings
from kubeflow_volcano.validators.explain.placement.dynamic_resources import API, TEMPLATES
from tests.samples.manifests import findings, judged, made, reasons, tfjob
from tests.unit.validators.explain.manifest.test_surroundings import Old

V1 = "resource.k8s.io/v1"
BY_TEMPLATE = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
BY_NAME = [{"name": "gpu", "resourceClaimName": "shared"}]
IS_GPU = [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]


def job(entries: list[Object], *, used: str = "gpu") -> Object:
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": used}] if used else []}
    container = {"name": "tensorflow", "image": "example/image:v1", "resources": resources}
    return tfjob({"spec": {"containers": [container], "resourceClaims": entries}})


def claim(name: str = "shared", *, of: str = "gpu", version: str = V1, **more: Any) -> Object:
    return made(version, "ResourceClaim", name, spec=wants(of, **more))


def template(*, of: str = "gpu", namespace: str = "team-a", **more: Any) -> Object:
    return made(V1, "ResourceClaimTemplate", "one-gpu", namespace, spec={"spec": wants(of, **more)})


def wants(of: str, **more: Any) -> Object:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": of, **more}}]}}


CLASS = made(V1, "DeviceClass", "gpu", "", spec={"selectors": IS_GPU})


@pytest.mark.parametrize(
    ("entries", "missing", "named"),
    [(BY_TEMPLATE, "DeviceTemplateMissing", template()), (BY_NAME, "DeviceClaimMissing", claim())],
)
def test_claims_and_templates_are_in_the_files_or_on_the_cluster(
    entries: list[Object], missing: str, named: Object
) -> None:
    assert reasons(job(entries), around=[CLASS]) == [missing]
    assert reasons(job(entries), around=[CLASS, named]) == []
    assert reasons(job(entries), named, CLASS) == []


@pytest.mark.parametrize(("entries", "named"), [(BY_TEMPLATE, template()), (BY_NAME, claim())])
def test_a_class_that_is_missing_is_told_where_it_is_named(entries: list[Object], named: Object) -> None:
    on_cluster = judged(job(entries), around=[named]).manifests
    assert [[each.reason for each in item.findings] for item in on_cluster] == [["DeviceClassMissing"]]
    in_files = judged(job(entries), named).manifests
    assert [[each.reason for each in item.findings] for item in in_files] == [[], ["DeviceClassMissing"]]
    (found,) = findings(claim(of="gpus"), around=[CLASS])
    assert "mean gpu?" in found.problem.found


def test_a_template_of_another_namespace_is_none() -> None:
    assert reasons(job(BY_TEMPLATE), around=[CLASS, template(namespace="team-b")]) == ["DeviceTemplateMissing"]


def test_offline_the_files_are_judged_by_themselves() -> None:
    whole = judged(job(BY_TEMPLATE), template(), CLASS, offline=True)
    assert not whole.warned
    part = judged(job(BY_TEMPLATE), offline=True)
    assert not part.warned
    assert {item.reason for item in part.unread} == {"NoCluster"}


def test_what_expressions_decide_is_said_to_be_unjudged_and_is_no_flaw() -> None:
    chosen = claim(selectors=[{"cel": {"expression": "device.attributes['a'].model == 'big'"}}])
    for offline in (False, True):
        answer = judged(chosen, CLASS, offline=offline)
        assert not answer.warned
        assert "CelNotEvaluated" in [item.reason for item in answer.unread]
    assert list(judged(claim(), CLASS).unread) == []


@pytest.mark.parametrize("version", ["resource.k8s.io/v1alpha3", "resource.k8s.io/v1alpha2"])
def test_a_version_whose_fields_are_not_known_is_said(version: str) -> None:
    (found,) = judged(claim(version=version), CLASS, offline=True).manifests[0].findings
    assert (found.reason, found.blocks) == ("DeviceApiUnknown", False)
    assert "KindNotServed" in reasons(claim(version=version), around=[CLASS])


def test_a_container_names_entries_of_its_pod() -> None:
    found = findings(job(BY_NAME, used="gpus"), claim(), CLASS)
    assert [(item.reason, item.blocks) for item in found] == [("DeviceEntryMissing", True), ("DeviceUnused", False)]
    assert "mean gpu?" in found[0].problem.found
    assert reasons(job(BY_NAME, used=""), claim(), CLASS) == ["DeviceUnused"]


def test_a_server_without_the_api_drops_the_field() -> None:
    assert reasons(job(BY_TEMPLATE), known={API: ""}) == ["DevicesNotServed"]
    assert reasons(tfjob(), known={API: ""}) == []


def test_what_may_not_be_read_is_told_and_not_called_missing() -> None:
    denied = Unread("Forbidden", "you may not list resourceclaimtemplates.", "ask.")
    answer = judged(job(BY_TEMPLATE), around=[CLASS], unread={TEMPLATES: denied})
    assert not answer.warned
    assert list(answer.unread) == [denied]


@pytest.mark.parametrize("spec", [None, "x", {"devices": ["x"]}, {"devices": {"requests": ["x", {"exactly": "y"}]}}])
def test_odd_claims_break_nothing(spec: Any) -> None:
    for offline in (False, True):
        judged(made(V1, "ResourceClaim", "odd", spec=spec), job(BY_NAME), offline=offline)
    assert reasons(job(cast("Any", ["gpu"]))) == ["WrongType"]


class Serving(Old):
    """It serves this version of the API, and denies or lacks what it names."""

    def __init__(self, version: str, status: int) -> None:
        self.version, self.status, self.listed = version, status, [""]

    def kinds(self, api_version: str) -> Any:
        return {"ResourceClaim": None} if api_version == self.version else super().kinds(api_version)

    def list(self, api_version: str, kind: str, **how: str) -> Any:
        if "resource.k8s.io" in api_version:
            self.listed.append(api_version)
            raise ApiError(self.status, "Forbidden", "no")
        return super().list(api_version, kind, **how)


@pytest.mark.parametrize(
    ("version", "unread"),
    [(V1, "Forbidden"), ("resource.k8s.io/v1beta1", "Forbidden"), ("resource.k8s.io/v1alpha3", "NotJudged")],
)
def test_the_version_that_the_server_has_is_asked_and_an_alpha_one_is_not(version: str, unread: str) -> None:
    files, server = [Manifest("job.yaml", 1, job(BY_TEMPLATE))], Serving(version, 403)
    answer = judge(files, surroundings(files, cast("Cluster", server)))
    assert not answer.warned
    assert unread in [item.reason for item in answer.unread]
    assert set(server.listed) == ({"", version} if unread == "Forbidden" else {""})


def test_a_server_is_asked_about_devices_only_where_they_are_named() -> None:
    files, server = [Manifest("job.yaml", 1, tfjob())], Serving(V1, 500)
    surroundings(files, cast("Cluster", server))
    assert server.listed == [""]
    files = [Manifest("job.yaml", 1, job(BY_TEMPLATE))]
    answer = judge(files, surroundings(files, cast("Cluster", Old())))
    assert [item.reason for item in answer.manifests[0].findings] == ["DevicesNotServed"]


def test_requests_in_the_shape_of_another_version() -> None:
    flat = {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}
    assert "UnknownField" in reasons(made(V1, "ResourceClaim", "c", spec=flat), offline=True)
    old = "resource.k8s.io/v1beta1"
    assert "UnknownField" not in reasons(made(old, "ResourceClaim", "c", spec=flat), offline=True)
    assert "UnknownField" in reasons(claim(version=old), offline=True)
    assert "UnknownField" not in reasons(claim(), offline=True)


def test_an_entry_that_names_no_claim() -> None:
    old = [{"name": "gpu", "source": {"resourceClaimTemplateName": "one-gpu"}}]
    assert "DeviceEntryEmpty" in reasons(job(old), offline=True)
    assert "DeviceEntryEmpty" not in reasons(job(BY_TEMPLATE), offline=True)
