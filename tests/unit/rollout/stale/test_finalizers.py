"""A held object is explained: finalizer, controller, whether it lives, and the command."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.stale.finalizers import controller_of, explain_terminating
from tests.samples.stored import Stored

PARTS = tuple(read.load_release("1.9.1").components.values())
EXPERIMENT = Ref("kubeflow.org/v1beta1", "Experiment", "n", "e")
MAP = Ref("v1", "ConfigMap", "n", "m")
SPACE = Ref("v1", "Namespace", "", "n")


def live(ref: Ref, *finalizers: str, **more: Any) -> Object:
    return new_object(ref.api_version, ref.kind, ref.name, ref.namespace, meta={"finalizers": list(finalizers)}, **more)


def explained(obj: Object, *others: Object, variable: str = "") -> str:
    api: Any = Stored(*others)
    return str(explain_terminating(api, obj, PARTS, variable=variable))


@pytest.mark.parametrize(
    ("ref", "finalizer", "name"),
    [
        (EXPERIMENT, "update-prometheus-metrics", "katib"),
        (Ref("kubeflow.org/v1", "Profile", "", "p"), "profile-finalizer", "profiles"),
        (Ref("kubeflow.org/v1", "PyTorchJob", "n", "j"), "example.org/x", "training-operator"),
        (MAP, "networking.internal.knative.dev/x", "knative-serving"),
        (MAP, "example.org/x", None),
    ],
)
def test_the_controller_is_that_of_the_kind_else_that_of_the_finalizer_s_domain(
    ref: Ref, finalizer: str, name: str | None
) -> None:
    found = controller_of(ref, finalizer, PARTS)
    assert (found and found.name) == name


def test_whether_the_controller_lives_and_the_command_are_said() -> None:
    text = explained(live(EXPERIMENT, "update-prometheus-metrics"), variable="uninstall_finalize")
    assert re.search("Experiment n/e .*update-prometheus-metrics", text)
    assert "kubeflow/katib-controller does not" in text
    assert 'uninstall_finalize: ["Experiment n/e"]' in text
    assert 'kubectl patch experiment.kubeflow.org e -n n --type merge -p \'{"metadata":{"finalizers":null}}\'' in text


def test_a_controller_that_lives_is_reported_with_its_state() -> None:
    controller = Ref("apps/v1", "Deployment", "kubeflow", "katib-controller")
    spec = {"spec": {"replicas": 1}, "status": {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 0}}
    text = explained(live(EXPERIMENT, "x"), live(controller, **spec))
    assert re.search("kubeflow/katib-controller .*0 of 1 ", text)
    assert "uninstall_finalize" not in text


def test_an_unknown_finalizer_is_named_and_no_controller_is_guessed() -> None:
    text = explained(live(MAP, "example.org/planted"))
    assert "sets example.org/planted" in text


def test_a_namespace_says_what_is_left_in_it() -> None:
    left = {"type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining: a.b has 1"}
    done = {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "All content deleted"}
    text = explained(live(SPACE, spec={"finalizers": ["kubernetes"]}, status={"conditions": [left, done]}))
    assert f"{left['message']}." in text
    assert "All content" not in text
    assert "patch" not in text


def test_a_crd_names_the_objects_that_keep_it() -> None:
    ref = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "experiments.kubeflow.org")
    spec = {
        "group": "kubeflow.org",
        "names": {"kind": "Experiment"},
        "versions": [{"name": "v1beta1", "storage": True}],
    }
    crd = live(ref, "customresourcecleanup.apiextensions.k8s.io", spec=spec)
    text = explained(crd, live(EXPERIMENT, "update-prometheus-metrics"))
    assert "Experiment n/e (update-prometheus-metrics)" in text
    assert "customresourcecleanup" not in text
