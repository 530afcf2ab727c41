"""Which objects hold something that stays, for every kind that holds others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.apply.removing.contents import Contents
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rollout.queues.view import API
from kubeflow_volcano.rollout.stale import in_use
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.stale.in_use import find_in_use

SPACE = Ref("v1", "Namespace", "", "team")
PROFILE = Ref("kubeflow.org/v1", "Profile", "", "team")
QUEUE = Ref(API, "Queue", "", "gpu")
CHILD = QUEUE._replace(name="child")
CLAIM = Ref("v1", "PersistentVolumeClaim", "team", "data")
VOLUME = Ref("v1", "PersistentVolume", "", "pv")
NOTEBOOK = Ref("kubeflow.org/v1", "Notebook", "team", "work")
BINDING = Ref("rbac.authorization.k8s.io/v1", "RoleBinding", "team", "editor")


def obj(ref: Ref, **rest: Any) -> Object:
    meta = {"name": ref.name, "uid": f"uid-{ref.kind}-{ref.name}"} | ({"namespace": ref.namespace} if ref[2] else {})
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta, **rest}


def owned(ref: Ref, owner: Ref) -> Object:
    found = obj(ref)
    found["metadata"]["ownerReferences"] = [
        {"kind": owner.kind, "name": owner.name, "uid": obj(owner)["metadata"]["uid"]}
    ]
    return found


def pod(name: str, phase: str) -> Object:
    spec = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": CLAIM.name}}]}
    return obj(Ref("v1", "Pod", "team", name), spec=spec, status={"phase": phase})


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> list[Object]:
    """The objects of the cluster; those of namespaces are listed."""
    found: list[Object] = []
    monkeypatch.setattr(
        in_use,
        "contents_of",
        lambda _cluster, names, _deadline: Contents(
            {name: tuple(item for item in found if item["metadata"].get("namespace") == name) for name in names}, {}
        ),
    )
    return found


def held(live: list[Object], *going: Ref, declared: tuple[Object, ...] = ()) -> set[Ref]:
    cluster: Any = SimpleNamespace(
        list=lambda _api, kind, **_: SimpleNamespace(items=tuple(item for item in live if item["kind"] == kind)),
        get=lambda ref, **_: next((item for item in live if Ref.of(item) == ref), None),
    )
    items = [Stale(ref, obj(ref), "", "") for ref in going]
    return set(find_in_use(cluster, items, declared, Deadline(5)))


@pytest.mark.parametrize("space", [SPACE, PROFILE])
def test_a_namespace_and_a_profile_stay_while_something_of_others_is_in_it(live: list[Object], space: Ref) -> None:
    live += [obj(CLAIM), obj(Ref("v1", "ConfigMap", "team", "istio-ca-root-cert"))]
    assert held(live, space, CLAIM) == set()
    live.append(obj(NOTEBOOK))
    assert held(live, space, CLAIM) == {space}


def test_what_a_profile_owns_goes_with_it_and_keeps_its_namespace_without_it(live: list[Object]) -> None:
    live.append(owned(BINDING, PROFILE))
    assert held(live, PROFILE, SPACE) == set()
    assert held(live, SPACE) == {SPACE}


def test_a_queue_stays_while_it_has_jobs_or_children(live: list[Object]) -> None:
    live += [obj(QUEUE, spec={"parent": "root"}), obj(CHILD, spec={"parent": QUEUE.name})]
    assert held(live, QUEUE) == {QUEUE}
    assert held(live, QUEUE, CHILD) == set()
    live.append(obj(Ref(API, "PodGroup", "team", "g"), spec={"queue": CHILD.name}))
    assert held(live, QUEUE, CHILD) == {CHILD}


def test_a_claim_stays_while_a_pod_or_a_declared_workload_uses_it(live: list[Object]) -> None:
    live.append(pod("done", "Succeeded"))
    assert held(live, CLAIM) == set()
    workload = obj(Ref("apps/v1", "Deployment", "team", "d"), spec={"template": pod("t", "")})
    assert held(live, CLAIM, declared=(workload,)) == {CLAIM}
    live.append(pod("running", "Running"))
    assert held(live, CLAIM) == {CLAIM}


def test_a_volume_stays_while_its_claim_does(live: list[Object]) -> None:
    live.append(obj(VOLUME, spec={"claimRef": {"namespace": CLAIM.namespace, "name": CLAIM.name}}))
    assert held(live, VOLUME) == set()
    live.append(obj(CLAIM))
    assert held(live, VOLUME) == {VOLUME}
    assert held(live, VOLUME, CLAIM) == set()


def test_a_namespace_that_cannot_be_listed_whole_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_use, "contents_of", lambda *_: Contents({}, {"things": "no answer"}))
    assert held([], SPACE) == {SPACE}
