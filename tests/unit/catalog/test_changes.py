"""What two entries of the same components have otherwise."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.catalog.changes import Changes, changes
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.read import decode_component
from kubeflow_volcano.ref import Ref

A = "Deployment n/a"
HOOK = "MutatingWebhookConfiguration a"


def part(name: str = "a", **fields: Any) -> Component:
    record = {"name": name, "title": name, "version": "1", "manifests": "m", "path": "p", "objects": 1}
    return decode_component(record | fields)


def of(old: Component, *new: Component) -> Changes:
    (found,) = changes([old], new)
    return found


def test_a_selector_that_is_another_one_is_found_wherever_its_workload_is_now() -> None:
    old = part(selectors={A: "app=a"}, images={A: {"c": "i"}})
    changed = part("b", selectors={A: "app=b"}, images={A: {"c": "i"}})
    assert of(old, changed).selectors == (Ref("apps/v1", "Deployment", "n", "a"),)
    assert not of(old, old).selectors
    assert not of(old, part(images={A: {"c": "i"}})).selectors  # an entry without selectors says nothing about them


def test_a_version_in_which_objects_are_stored_and_that_is_not_served_any_more() -> None:
    old = part(crds={"as.x.io": ["v1", "v2"], "bs.x.io": ["v1"]}, stored={"as.x.io": "v2"})
    assert of(old, part(crds={"as.x.io": ["v1"], "bs.x.io": ["v1"]})).unserved == {"as.x.io": "v2"}
    assert of(old, part(crds={"as.x.io": ["v2"], "bs.x.io": ["v2"]})).unserved == {"bs.x.io": "v1"}
    assert of(old, part(crds=["as.x.io", "bs.x.io"])).unserved == {}
    silent = part(crds={"as.x.io": ["v1", "v2"]})  # an entry that is older than this field
    assert of(silent, part(crds={"as.x.io": ["v2"]})).unserved == {}


def test_what_another_component_brings_now_is_not_removed() -> None:
    old = part(images={A: {"c": "i"}, "Job n/once": {"c": "i"}}, crds={"as.x.io": ["v1"]}, webhooks={HOOK: ["pods"]})
    assert {ref.kind for ref in of(old, part()).removed} == {
        "Deployment",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
    }
    assert not of(old, part(), part("b", images={A: {}}, crds={"as.x.io": ["v1"]}, webhooks=[HOOK])).removed


def test_webhooks_intercept_more_wherever_kinds_are_not_new() -> None:
    old = part(webhooks={HOOK: ["as"]}, crds={"as.x.io": ["v1"]})
    new = part(webhooks={HOOK: ["as"], f"{HOOK}-2": ["pods", "bs"]}, crds={"as.x.io": ["v1"], "bs.x.io": ["v1"]})
    assert of(old, new).intercepts == {"MutatingWebhookConfiguration": ("pods",)}
    assert not of(part(webhooks=[HOOK]), new).intercepts  # what they intercept is not known
