"""An old cluster, written: recorded facts turned into what Kubernetes 1.22 and Kubeflow 1.6.1 hold."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.machinery.webhook_answers import WEBHOOK_ANSWERS
from kubeflow_volcano.validators.checks.workloads.holdings import HELD
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.resources import CRDS, DEPLOYMENTS, NODES, PODS, VALIDATING_WEBHOOKS
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.webhooks import SERVING_CERTIFICATES
from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import namespace
from tests.recorded.foreign.people import own_things

__all__ = ["RECIPES"]

_SERVER, _KUBELETS = "v1.22.17", "v1.21.14"
_IMAGE = "kubeflow/training-operator:v1-e1434f6"
_ABSENT = "paddlejobs.kubeflow.org"
_HOOK = "validator.training-operator.kubeflow.org"


def people(make: Making) -> None:
    """A laboratory in which little works."""
    make.apply(namespace("lab"))
    own_things(make, "lab")
    make.until(lambda: "CrashLoopBackOff" in str(make.cluster.list("v1", "Pod", namespace="lab").items))


def turned_back(facts: Facts) -> Facts:
    """Kubeflow 1.6.1's operator has other arguments, no webhook and no PaddleJob; kubelets lag behind by one minor."""

    def of_old(resource: str, item: Object) -> Object:
        found = copy.deepcopy(item)
        if resource == NODES:
            found["status"]["nodeInfo"]["kubeletVersion"] = _KUBELETS
        if resource == DEPLOYMENTS and Ref.of(found) == TRAINING.ref:
            _operator(found["spec"]["template"]["spec"])
        if resource == PODS and workload_of(found) == TRAINING.ref:
            _operator(found["spec"])
        return found

    gone: Mapping[str, str] = {CRDS: _ABSENT, VALIDATING_WEBHOOKS: _HOOK}
    objects = {
        kind: tuple(of_old(kind, item) for item in items if item["metadata"]["name"] != gone.get(kind))
        for kind, items in facts.objects.items()
    }
    held = facts.known(HELD)
    answers = facts.known(WEBHOOK_ANSWERS) or ()
    known: Mapping[Fact[Any], Any] = {
        HELD: held
        and replace(held, expected={ref: part for ref, part in held.expected.items() if ref.name not in gone.values()}),
        SERVING_CERTIFICATES: {
            ref: texts
            for ref, texts in facts.known(SERVING_CERTIFICATES).items()
            if ref.namespace != TRAINING.ref.namespace
        },
        WEBHOOK_ANSWERS: tuple(item for item in answers if item.owner.name != _HOOK),
    }
    return replace(facts, server_version=_SERVER, objects=objects, found={**facts.found, **known})


def _operator(spec: Object) -> None:
    for container in spec["containers"]:
        if container["name"] == TRAINING.container:
            container["image"] = _IMAGE
            container["args"] = ["--enable-gang-scheduling=true"]


RECIPES = {
    "old-and-worn": Recipe(
        "Kubernetes 1.22 with kubelets of 1.21, Kubeflow 1.6.1 with training operator 1.5.0, and a laboratory's broken "
        "things.",
        "Written: what an API server answered, with versions, images, arguments and kinds of Kubernetes 1.22 and of "
        "Kubeflow 1.6.1's manifests; what was asked was",
        people,
        {"profile": "training", "release": "1.6.1", "volcano_version": "1.10.0"},
        rewrite=turned_back,
    ),
}
