"""CRDs that cannot be changed in one request, on a real API server: every object survives with equal content."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

GROUP = "crds.kubeflow-volcano.test"
CRD = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", f"vessels.{GROUP}")
COUNT = 30
BUNDLE = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()
CONVERSION = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "default", "name": "absent", "path": "/convert"}},
    },
}


def version(name: str, *, storage: bool = False, **more: Any) -> dict[str, Any]:
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if more:
        spec = {"type": "object", "properties": more}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def crd(*versions: dict[str, Any], **spec: Any) -> Object:
    names = {"kind": "Vessel", "plural": "vessels"}
    spec = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [*versions], **spec}
    return {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": {"name": CRD.name}, "spec": spec}


def vessel(number: int, api: str = "v1alpha1", **spec: Any) -> Object:
    meta = {"name": f"vessel-{number}", "namespace": "default", "labels": {"number": str(number)}}
    return {"apiVersion": f"{GROUP}/{api}", "kind": "Vessel", "metadata": meta, "spec": spec or {"size": number}}


OLD, NEW = version("v1alpha1", storage=True), version("v1beta1", storage=True)


@pytest.fixture(autouse=True)
def clean(cluster: Cluster) -> Iterator[None]:
    yield
    if live := cluster.get(CRD):
        cluster.delete(CRD, uid=live["metadata"]["uid"])
        until(lambda: cluster.get(CRD) is None)


class Said(list[str]):
    """Lines of progress."""

    def __call__(self, line: str) -> None:
        self.append(line)


def apply(
    cluster: Cluster, *objects: Object, check: bool = False, said: Said | None = None, seconds: float = 60
) -> ApplyResult:
    engine = Engine(
        cluster,
        {"part": objects},
        {},
        deadline=Deadline(seconds),
        progress=Said() if said is None else said,
        check=check,
    )
    if engine.apply():
        engine.finish()
    return engine.result()


def install(cluster: Cluster, definition: Object, *objects: Object) -> None:
    result = apply(cluster, definition, *objects)
    assert not result.problems, result.problems


def contents(cluster: Cluster, api: str) -> dict[str, tuple[str, Any, Any]]:
    return {
        item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"]["labels"], item["spec"])
        for item in cluster.list(f"{GROUP}/{api}", "Vessel").items
    }


def stored_versions(cluster: Cluster) -> list[str]:
    live = cluster.get(CRD)
    assert live is not None
    found: list[str] = live["status"]["storedVersions"]
    return found


def test_objects_of_a_version_that_disappears_are_stored_again_and_keep_their_content(cluster: Cluster) -> None:
    """As domainmappings of Knative from 1.8.1 to 1.9.1: the live CRD stores v1alpha1, the declared one lacks it."""
    install(cluster, crd(OLD, version("v1beta1")), *map(vessel, range(COUNT)))
    before = contents(cluster, "v1alpha1")
    assert len(before) == COUNT

    said = Said()
    foretold = apply(cluster, crd(NEW), check=True, said=said)
    assert not foretold.problems
    assert any(f"stored versions migrated: {COUNT} objects from v1alpha1 to v1beta1" in line for line in said), said
    assert stored_versions(cluster) == ["v1alpha1"]
    assert [item.action for item in foretold.outcomes] == [Action.CHANGED]

    result = apply(cluster, crd(NEW))
    assert not result.problems, result.problems
    assert stored_versions(cluster) == ["v1beta1"]
    assert contents(cluster, "v1beta1") == before
    assert not apply(cluster, crd(NEW)).changed


def test_a_new_version_that_the_old_crd_does_not_know_takes_over(cluster: Cluster) -> None:
    install(cluster, crd(OLD), *map(vessel, range(3)))
    before = contents(cluster, "v1alpha1")
    result = apply(cluster, crd(NEW))
    assert not result.problems, result.problems
    assert stored_versions(cluster) == ["v1beta1"]
    assert contents(cluster, "v1beta1") == before


def test_a_run_that_ended_in_between_is_resumed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended after some objects: both versions are there, and what was not stored again still can be read."""
    install(cluster, crd(OLD, version("v1beta1")), *map(vessel, range(COUNT)))
    before = contents(cluster, "v1alpha1")
    patch, calls = Cluster.patch, list[Ref]()

    def failing(self: Cluster, ref: Ref, body: Any, **options: Any) -> Object:
        calls.append(ref)
        if len(calls) > COUNT // 2:
            raise KeyboardInterrupt
        return patch(self, ref, body, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Cluster, "patch", failing)
        with pytest.raises(KeyboardInterrupt):
            apply(cluster, crd(NEW))
    assert stored_versions(cluster) == ["v1alpha1", "v1beta1"]
    assert contents(cluster, "v1alpha1") == before
    result = apply(cluster, crd(NEW))
    assert not result.problems, result.problems
    assert stored_versions(cluster) == ["v1beta1"]
    assert contents(cluster, "v1beta1") == before


def test_a_conversion_that_ends_goes_with_what_an_injector_added(cluster: Cluster) -> None:
    """As inferenceservices of KServe from 1.8.1 to 1.9.1: the caBundle is the injector's, and stayed alone."""
    install(cluster, crd(OLD, conversion=CONVERSION))
    bundle = {"webhook": {"clientConfig": {"caBundle": BUNDLE}}}
    patched = {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": CRD.name},
        "spec": {"conversion": {"strategy": "Webhook", **bundle}},
    }
    cluster.apply(patched, manager="cert-manager-cainjector", force=True)
    said = Said()
    assert not apply(cluster, crd(OLD), check=True, said=said).problems
    assert any("conversion by webhook removed" in line for line in said)
    live = cluster.get(CRD)
    assert live is not None
    assert live["spec"]["conversion"]["strategy"] == "Webhook"

    result = apply(cluster, crd(OLD))
    assert not result.problems, result.problems
    live = cluster.get(CRD)
    assert live is not None
    assert live["spec"]["conversion"] == {"strategy": "None"}
    assert not apply(cluster, crd(OLD)).changed


def test_a_conversion_that_another_manager_declares_stays(cluster: Cluster) -> None:
    install(cluster, crd(OLD))
    cluster.apply(crd(OLD, conversion=CONVERSION), manager="other", force=True)
    result = apply(cluster, crd(OLD))
    assert not result.problems, result.problems
    live = cluster.get(CRD)
    assert live is not None
    assert live["spec"]["conversion"]["strategy"] == "Webhook"


@pytest.fixture
def policy(cluster: Cluster) -> Iterator[None]:
    """Changes of vessel-2 are denied."""
    meta = {"name": GROUP}
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["vessels"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.name != 'vessel-2'", "message": "vessel-2 is sealed"}],
    }
    api = "admissionregistration.k8s.io/v1"
    made = [
        cluster.create({"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": spec}),
        cluster.create(
            {
                "apiVersion": api,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": meta,
                "spec": {"policyName": GROUP, "validationActions": ["Deny"]},
            }
        ),
    ]
    yield
    for obj in made:
        cluster.delete(Ref.of(obj), uid=obj["metadata"]["uid"])


@pytest.mark.usefixtures("policy")
def test_objects_that_are_refused_are_named_and_nothing_is_lost(cluster: Cluster) -> None:
    install(cluster, crd(OLD, version("v1beta1")), *map(vessel, range(3)))
    before = contents(cluster, "v1alpha1")
    sealed = Ref(f"{GROUP}/v1alpha1", "Vessel", "default", "vessel-2")
    until(lambda: is_denied(cluster, sealed))
    result = apply(cluster, crd(NEW))
    (problem,) = result.problems
    assert "1 object of vessels" in problem.found
    assert "default/vessel-2" in problem.found
    assert "vessel-2 is sealed" in problem.found
    assert f"kubectl edit vessels.{GROUP} vessel-2 -n default" in problem.found
    assert stored_versions(cluster) == ["v1alpha1", "v1beta1"]
    assert contents(cluster, "v1alpha1") == before

    live = cluster.get(sealed)
    assert live is not None
    cluster.delete(sealed, uid=live["metadata"]["uid"])
    assert not apply(cluster, crd(NEW)).problems
    assert stored_versions(cluster) == ["v1beta1"]


def is_denied(cluster: Cluster, ref: Ref) -> bool:
    try:
        cluster.patch(ref, {})
    except ApiError:
        return True
    return False


def test_check_mode_does_not_judge_objects_by_a_crd_that_the_run_changes(cluster: Cluster) -> None:
    strict = version("v1alpha1", storage=True, size={"type": "integer"})
    install(cluster, crd(strict), vessel(0))
    wider = version("v1alpha1", storage=True, size={"type": "integer"}, color={"type": "string"})
    objects = (crd(wider), vessel(0, size=1, color="red"), vessel(1, size=1, color="blue"))
    said = Said()
    foretold = apply(cluster, *objects, check=True, said=said)
    assert not foretold.problems, foretold.problems
    assert [item.action for item in foretold.outcomes] == [Action.CHANGED, Action.CHANGED, Action.CREATED]
    assert sum("judged only when its CRD is there" in line for line in said) == 2
    assert not apply(cluster, *objects).problems

    wrong = apply(cluster, crd(wider), vessel(0, size=1, colour="red"), check=True)
    assert len(wrong.problems) == 1
