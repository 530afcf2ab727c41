"""An old cluster: Kubernetes 1.22 with Kubeflow 1.6.1, where people have worked for long."""

from __future__ import annotations

from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import namespace
from tests.recorded.foreign.people import own_things


def people(make: Making) -> None:
    """A laboratory in which little works."""
    make.apply(namespace("lab"))
    own_things(make, "lab")
    make.until(lambda: "CrashLoopBackOff" in str(make.cluster.list("v1", "Pod", namespace="lab").items))


RECIPES = {
    "old-and-worn": Recipe(
        "Kubernetes 1.22 with Volcano 1.8.2 and the training operator of Kubeflow 1.6.1, and a laboratory in which "
        "little works.",
        "Made by applying such objects to an installation of that release;",
        people,
        {"profile": "training", "release": "1.6.1", "volcano_version": "1.8.2"},
        generation="1.22",
    ),
}
