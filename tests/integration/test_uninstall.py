"""One component removed from a real cluster: what is ours goes by UID, what others have there keeps what it needs.

The component is planted as a roll-out would have left it, so that the installation of the cluster stays for other
tests. test_uninstall_whole.py removes a whole installation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, Brought
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.state.inventory import read_inventory, write_inventory
from kubeflow_volcano.rollout.uninstall.account import Uninstalled
from kubeflow_volcano.rollout.uninstall.run import uninstall
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

COMPONENT = "katib"
"""Not installed on clusters of tests; the record says that the planted objects are its own."""
NAME = "kfv-test-uninstall"
GROUP = "uninstall.kubeflow-volcano.test"
PEOPLE = "people"


def made(api_version: str, kind: str, namespace: str = "", name: str = NAME, **more: Any) -> Object:
    return new_object(api_version, kind, name, namespace, **more)


def crd(kind: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return made(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        name=f"{kind.lower()}s.{GROUP}",
        spec={
            "group": GROUP,
            "names": {"kind": kind, "plural": f"{kind.lower()}s"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )


SPACE = made("v1", "Namespace")
SPACE["metadata"]["labels"] = {GROUP: "true"}
SHARED = made("v1", "Namespace", name=f"{NAME}-shared")
SHARED["metadata"]["labels"] = {GROUP: "true"}
CLAIM = made(
    "v1",
    "PersistentVolumeClaim",
    NAME,
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}, "storageClassName": "none"},
)
GADGETS, WIDGETS = crd("Gadget"), crd("Widget")
GADGET, WIDGET = made(f"{GROUP}/v1", "Gadget", NAME), made(f"{GROUP}/v1", "Widget", NAME)
SETTINGS = made("v1", "ConfigMap", NAME, data={"a": "1"})
ROLE = made("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[])
OURS = (SPACE, SHARED, CLAIM, GADGETS, WIDGETS, GADGET, WIDGET, SETTINGS, ROLE)
THEIRS = (
    made("v1", "Namespace", name=f"{NAME}-people"),
    made(f"{GROUP}/v1", "Widget", f"{NAME}-people", "theirs"),
    made("rbac.authorization.k8s.io/v1", "ClusterRole", name=f"{NAME}-theirs", rules=[]),
)


@pytest.fixture
def planted(cluster: Cluster) -> Iterator[dict[Ref, tuple[str, str]]]:
    """The component and its record, and objects of others with their UIDs and resourceVersions."""
    theirs = made("v1", "Namespace", name=f"{NAME}-shared")
    theirs["metadata"]["labels"] = {"team": PEOPLE}
    cluster.apply(theirs, manager="kubectl-create")
    begun = time.monotonic()
    until(lambda: time.monotonic() > begun + 1.1)  # managedFields have whole seconds
    uids: dict[Ref, str] = {}
    for obj in (*OURS, *THEIRS):
        ref = Ref.of(obj)
        until(partial(is_served, cluster, ref), 30)
        applied = cluster.apply(obj, manager=FIELD_MANAGER if obj in OURS else PEOPLE)
        uids[ref] = applied["metadata"]["uid"]
    before = read_inventory(cluster)
    own = {Ref.of(obj): uids[Ref.of(obj)] for obj in OURS}
    write_inventory(cluster, {**before, COMPONENT: Brought("1", own)})
    yield {Ref.of(obj): version(cluster, Ref.of(obj)) for obj in THEIRS}
    cluster.patch(APPLIED_OBJECTS, {"data": {COMPONENT: None}})
    for ref, uid in reversed(uids.items()):
        if live := cluster.get(ref):
            if live["metadata"].get("finalizers") and ref.kind == "Gadget":
                cluster.patch(ref, {"metadata": {"finalizers": None}})
            cluster.delete(ref, uid=uid)
    until(lambda: all(cluster.get(ref) is None for ref in uids), 60)


def is_served(cluster: Cluster, ref: Ref) -> bool:
    return ref.kind in cluster.kinds(ref.api_version)


def version(cluster: Cluster, ref: Ref) -> tuple[str, str]:
    meta = (cluster.get(ref) or {})["metadata"]
    return meta["uid"], meta["resourceVersion"]


def run(cluster: Cluster, *, check: bool = False, **more: Any) -> Uninstalled:
    variables = {"uninstall_components": [COMPONENT], "uninstall_wait_seconds": 5, **more}
    return uninstall(cluster, parse(variables), check=check, progress=silent)


def test_a_component_goes_and_what_others_need_stays(cluster: Cluster, planted: dict[Ref, tuple[str, str]]) -> None:
    going = {Ref.of(obj) for obj in (GADGETS, GADGET, WIDGET, SETTINGS, ROLE)}
    staying = {Ref.of(obj) for obj in (SPACE, CLAIM, WIDGETS)}

    foretold = run(cluster, check=True)
    assert set(foretold.with_action(Action.REMOVED)) == going
    assert {item.ref for item in foretold.kept} == staying
    assert all(cluster.get(ref) for ref in going)

    done = run(cluster)
    assert not done.problems
    assert set(done.with_action(Action.REMOVED)) == going
    assert not any(cluster.get(ref) for ref in going)
    assert {item.ref for item in done.kept} == staying
    assert {ref: version(cluster, ref) for ref in planted} == planted

    assert done.with_action(Action.CHANGED) == [Ref.of(SHARED)]
    given_back = (cluster.get(Ref.of(SHARED)) or {})["metadata"]
    assert given_back["labels"].keys() >= {"team"}
    assert GROUP not in given_back["labels"]
    assert FIELD_MANAGER not in {entry["manager"] for entry in given_back["managedFields"]}

    assert not run(cluster).changed
    rest = read_inventory(cluster)[COMPONENT].objects
    assert set(rest) == staying

    cluster.delete(Ref.of(THEIRS[1]), uid=planted[Ref.of(THEIRS[1])][0])
    last = run(cluster, uninstall_data=[str(Ref.of(CLAIM))], uninstall_wait_seconds=60)
    assert (last.problems, last.kept) == ((), ())
    assert set(last.with_action(Action.REMOVED)) == staying
    assert COMPONENT not in read_inventory(cluster)
    assert not run(cluster).changed


@pytest.mark.usefixtures("planted")
def test_a_held_custom_resource_is_explained_and_goes_on_when_it_is_free(cluster: Cluster) -> None:
    gadget = Ref.of(GADGET)
    cluster.patch(gadget, {"metadata": {"finalizers": ["example.org/planted"]}})

    held = run(cluster)
    (problem,) = held.problems
    assert "example.org/planted" in problem.found
    assert f'uninstall_finalize: ["{gadget}"]' in problem.todo
    live = cluster.get(gadget) or {}
    assert live["metadata"]["finalizers"] == ["example.org/planted"]
    assert cluster.get(Ref.of(SETTINGS))  # its controller may need it

    done = run(cluster, uninstall_finalize=[str(gadget)])
    assert not done.problems
    assert cluster.get(gadget) is None
    assert cluster.get(Ref.of(SETTINGS)) is None


def test_what_others_need_is_refused_before_the_first_change(cluster: Cluster) -> None:
    with pytest.raises(InvalidInput) as refused:
        run(cluster, uninstall_components=["volcano"])
    assert re.search("volcano .*training-operator", str(refused.value))
