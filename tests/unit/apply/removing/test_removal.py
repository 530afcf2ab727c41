"""What a removal says of objects that do not go; tests/integration/test_stale.py removes on a real cluster."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.apply.removing.removal import Removal
from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent

CRDS = "/apis/apiextensions.k8s.io/v1"
MAPS = "/api/v1/namespaces/n/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/n/deployments"
MAP, DEPLOYMENT = Ref("v1", "ConfigMap", "n", "a"), Ref("apps/v1", "Deployment", "n", "a")


def live(ref: Ref, **meta: Any) -> Object:
    meta = {"name": ref.name, "namespace": ref.namespace, "uid": f"uid-{ref.kind}", **meta}
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta}


def removal(api: Any, *refs: Ref, seconds: float = 1.0, check: bool = False) -> Removal:
    for path, plural, kind in (
        (CRDS, "customresourcedefinitions", "CustomResourceDefinition"),
        ("/api/v1", "configmaps", "ConfigMap"),
        ("/apis/apps/v1", "deployments", "Deployment"),
    ):
        resource = {"name": plural, "kind": kind, "namespaced": kind != "CustomResourceDefinition"}
        api.on("GET", path, api.reply(body={"resources": [resource]}))
    nothing = {"metadata": {"resourceVersion": "1"}, "items": []}
    api.on("GET", f"{CRDS}/customresourcedefinitions", api.reply(body=nothing))
    done = Removal(api.connect(), Deadline(seconds), silent, check=check)
    done.run({ref: live(ref) for ref in refs})
    return done


def test_what_a_finalizer_holds_is_named_and_what_comes_after_it_stays(api: Any) -> None:
    """Configuration goes after workloads: a workload that is held may still need it."""
    api.on("DELETE", f"{DEPLOYMENTS}/a", api.reply(body={}))
    api.on("GET", f"{DEPLOYMENTS}/a", api.reply(body=live(DEPLOYMENT, finalizers=["example.org/hold"])))
    done = removal(api, DEPLOYMENT, MAP)
    assert done.outcomes == []
    (problem,) = done.problems
    assert "Deployment n/a is being deleted, but is held by the finalizers example.org/hold" in problem.found
    assert "kubectl get deployment.apps a -n n" in problem.todo
    assert not api.seen("DELETE", f"{MAPS}/a")


def test_a_refused_deletion_is_a_problem_with_the_servers_words(api: Any) -> None:
    api.on("DELETE", f"{MAPS}/a", api.status(403, "Forbidden", "policy says no"))
    done = removal(api, MAP)
    assert done.outcomes == []
    assert "policy says no" in done.problems[0].found


def test_an_object_that_others_made_again_is_not_waited_for(api: Any) -> None:
    api.on("DELETE", f"{MAPS}/a", api.reply(body={}))
    api.on("GET", f"{MAPS}/a", api.reply(body=live(MAP, uid="another")))
    done = removal(api, MAP, seconds=20)
    assert [item.action for item in done.outcomes] == [Action.REMOVED]
    assert api.seen("DELETE", f"{MAPS}/a")[0].body["preconditions"] == {"uid": "uid-ConfigMap"}


def test_check_mode_foretells_and_deletes_nothing(api: Any) -> None:
    done = removal(api, MAP, check=True)
    assert [(item.ref, item.action) for item in done.outcomes] == [(MAP, Action.REMOVED)]
    assert not api.seen("DELETE", f"{MAPS}/a")
