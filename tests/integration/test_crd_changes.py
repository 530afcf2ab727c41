"""CRDs that cannot be changed in one request, on a real API server: every object survives with equal content."""

from __future__ import annotations

import base64
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.stored_versions import lost_version
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.backup.collect import collect
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.uninstall.run import uninstall
from kubeflow_volcano.rollout.upgrade.listable import unlistable
from kubeflow_volcano.validators.checks.machinery.served import kinds_listable
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.subjects.crds import LISTINGS
from tests.samples.facts import facts
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
    made = [ref for number in range(MANY) if cluster.get(ref := Ref.of(fleet(number, "v1alpha1")))]
    for ref in [CRD, *made]:
        if live := cluster.get(ref):
            cluster.delete(ref, uid=live["metadata"]["uid"])
    until(lambda: not any(map(cluster.get, [CRD, *made])))


def apply(
    cluster: Cluster, *objects: Object, check: bool = False, progress: Progress = silent, seconds: float = 60
) -> ApplyResult:
    engine = Engine(
        cluster,
        {"part": objects},
        {},
        deadline=Deadline(seconds),
        progress=progress,
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

    said: list[str] = []
    foretold = apply(cluster, crd(NEW), check=True, progress=said.append)
    assert not foretold.problems
    assert any(re.search(f"{COUNT} objects .*v1alpha1 .*v1beta1", line) for line in said), said
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
    said: list[str] = []
    assert not apply(cluster, crd(OLD), check=True, progress=said.append).problems
    assert any("webhook removed" in line for line in said)
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
    said: list[str] = []
    foretold = apply(cluster, *objects, check=True, progress=said.append)
    assert not foretold.problems, foretold.problems
    assert [item.action for item in foretold.outcomes] == [Action.CHANGED, Action.CHANGED, Action.CREATED]
    assert sum("when its CRD" in line for line in said) == 2
    assert not apply(cluster, *objects).problems

    wrong = apply(cluster, crd(wider), vessel(0, size=1, colour="red"), check=True)
    assert len(wrong.problems) == 1


MANY, MOVING, EACH = 40, 8, 3
"""CRDs that change at once, those of them that lose a version, and the objects of each of these."""


def fleet(number: int, *versions: str, wide: int = 1) -> Object:
    """One of many CRDs; the last version is the one that objects are stored in, and its schema has `wide` fields."""
    fields = {f"field{index}": {"type": "string", "description": "x" * 200} for index in range(wide)}
    items = [version(name, storage=name == versions[-1], size={"type": "integer"}, **fields) for name in versions]
    plural = f"fleet{number}s"
    names = {"kind": f"Fleet{number}", "plural": plural}
    spec = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": items}
    return {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


def ship(number: int, index: int) -> Object:
    meta = {"name": f"ship-{index}", "namespace": "default"}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": f"Fleet{number}", "metadata": meta, "spec": {"size": index}}


def many_change_at_once(cluster: Cluster, times: int) -> None:
    """The API server builds the storage of a changed kind one after the other, and discovery is ahead of it."""
    for _ in range(times):
        ships = [ship(number, index) for number in range(MOVING) for index in range(EACH)]
        install(cluster, *(fleet(number, "v1beta1", "v1alpha1") for number in range(MANY)), *ships)
        before = {number: sizes(cluster, number, "v1alpha1") for number in range(MOVING)}
        wide = [
            fleet(number, *(("v1beta1",) if number < MOVING else ("v1beta1", "v1alpha1")), wide=40)
            for number in range(MANY)
        ]
        said: list[str] = []
        result = apply(cluster, *wide, progress=said.append, seconds=300)
        assert not result.problems, result.problems
        assert sum(f"stored versions migrated: {EACH} objects to v1beta1" in line for line in said) == MOVING, said
        for number in range(MOVING):
            live = cluster.get(Ref.of(wide[number]))
            assert live is not None
            assert live["status"]["storedVersions"] == ["v1beta1"]
            assert live["spec"]["versions"] == [{**live["spec"]["versions"][0], "name": "v1beta1", "storage": True}]
            assert "additionalPrinterColumns" not in live["spec"]["versions"][0]
            assert sizes(cluster, number, "v1beta1") == before[number]
        for obj in wide:
            live = cluster.get(Ref.of(obj))
            assert live is not None
            cluster.delete(Ref.of(obj), uid=live["metadata"]["uid"])
        refs = [Ref.of(obj) for obj in wide]
        until(lambda refs=refs: not any(map(cluster.get, refs)))  # type: ignore[misc]


def sizes(cluster: Cluster, number: int, api: str) -> dict[str, tuple[str, int]]:
    found = cluster.list(f"{GROUP}/{api}", f"Fleet{number}").items
    return {item["metadata"]["name"]: (item["metadata"]["uid"], item["spec"]["size"]) for item in found}


def test_no_object_is_lost_while_many_crds_change_at_once(cluster: Cluster) -> None:
    many_change_at_once(cluster, 1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_no_object_is_lost_however_often_many_crds_change_at_once(cluster: Cluster) -> None:
    many_change_at_once(cluster, 20)


def test_a_kind_that_lost_a_version_is_found_and_comes_back(cluster: Cluster, kubeconfig: Path) -> None:
    """What a version leaves behind that was dropped while an object was stored in it."""
    install(cluster, crd(OLD, version("v1beta1")), *map(vessel, range(3)))
    before = contents(cluster, "v1alpha1")
    lose_version(cluster)
    assert (listable(cluster).status, listable(cluster).reason) == (Status.FAIL, "VersionLost")
    assert list(collect(cluster, silent).origin.unread) == [CRD.name]
    assert [CRD.name in problem.todo for problem in unlistable(cluster)] == [True]
    plan = uninstall(cluster, parse({}), check=True, progress=silent)
    assert any(CRD.name in problem.todo for problem in plan.problems)

    for command in listable(cluster).changes:
        env = {"KUBECONFIG": str(kubeconfig), "PATH": f"{kubeconfig.parent / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", command], env=os.environ | env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    until(lambda: listable(cluster).status is Status.PASS)
    assert contents(cluster, "v1beta1") == before
    result = apply(cluster, crd(NEW))
    assert not result.problems, result.problems
    assert stored_versions(cluster) == ["v1beta1"]
    assert contents(cluster, "v1beta1") == before
    assert not apply(cluster, crd(NEW)).changed


def lose_version(cluster: Cluster) -> None:
    """Drop the version in which the vessels are stored, as if none were."""
    cluster.patch(CRD, {"spec": {"versions": [{**OLD, "storage": False}, NEW]}})
    path = cluster.resource(CRD.api_version, CRD.kind).path("", CRD.name)
    forgotten = {"status": {"storedVersions": ["v1beta1"]}}
    cluster.request("PATCH", f"{path}/status", body=forgotten, content_type="application/merge-patch+json")
    cluster.apply(crd(NEW), manager=FIELD_MANAGER, force=True)
    until(lambda: not can_be_listed(cluster))


def listable(cluster: Cluster) -> Outcome:
    live = cluster.get(CRD)
    assert live is not None
    known = facts(live, crds={CRD.name: "part"})
    return kinds_listable(facts(live, crds={CRD.name: "part"}, known={LISTINGS: LISTINGS.fetch(cluster, known)}))


def can_be_listed(cluster: Cluster) -> bool:
    try:
        contents(cluster, "v1beta1")
    except ApiError as error:
        return not lost_version(error.message)
    return True
