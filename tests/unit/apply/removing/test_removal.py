"""What a removal says of objects that do not go; tests/integration/test_stale.py removes on a real cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubeflow_volcano.apply.removing.order import UNINSTALLING
from kubeflow_volcano.apply.removing.removal import Removal, Rules
from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import silent

CRDS = "/apis/apiextensions.k8s.io/v1"
MAPS = "/api/v1/namespaces/n/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/n/deployments"
MAP, DEPLOYMENT = Ref("v1", "ConfigMap", "n", "a"), Ref("apps/v1", "Deployment", "n", "a")


def live(ref: Ref, **meta: Any) -> Object:
    meta = {"name": ref.name, "namespace": ref.namespace, "uid": f"uid-{ref.kind}", **meta}
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta}


def crd(name: str) -> Object:
    return {"metadata": {"name": name}}


def explained(held: Object) -> Problem:
    return Problem(f"{Ref.of(held)} is held.", "", "")


def removal(
    api: Any,
    *refs: Ref,
    seconds: float = 1.0,
    check: bool = False,
    rules: Rules | None = None,
    crds: Sequence[Object] = (),
) -> Removal:
    for path, plural, kind in (
        (CRDS, "customresourcedefinitions", "CustomResourceDefinition"),
        ("/api/v1", "configmaps", "ConfigMap"),
        ("/apis/apps/v1", "deployments", "Deployment"),
    ):
        resource = {"name": plural, "kind": kind, "namespaced": kind != "CustomResourceDefinition"}
        api.on("GET", path, api.reply(body={"resources": [resource]}))
    listed = {"metadata": {"resourceVersion": "1"}, "items": [*crds]}
    api.on("GET", f"{CRDS}/customresourcedefinitions", api.reply(body=listed))
    done = Removal(
        api.connect(), Deadline(60), silent, rules or Rules(explain=explained, patience_seconds=seconds), check=check
    )
    done.run({ref: live(ref) for ref in refs})
    return done


def test_what_a_finalizer_holds_is_named_and_what_comes_after_it_stays(api: Any) -> None:
    """Configuration goes after workloads: a workload that is held may still need it."""
    api.on("DELETE", f"{DEPLOYMENTS}/a", api.reply(body={}))
    api.on("GET", f"{DEPLOYMENTS}/a", api.reply(body=live(DEPLOYMENT, finalizers=["example.org/hold"])))
    done = removal(api, DEPLOYMENT, MAP)
    assert done.outcomes == []
    assert [problem.found for problem in done.problems] == ["Deployment n/a is held."]
    assert done.waiting == {MAP}
    assert not api.seen("DELETE", f"{MAPS}/a")


def test_the_caller_says_what_waits_for_a_held_object(api: Any) -> None:
    for path in (f"{DEPLOYMENTS}/a", f"{MAPS}/a"):
        api.on("DELETE", path, api.reply(body={}))
    api.on("GET", f"{DEPLOYMENTS}/a", api.reply(body=live(DEPLOYMENT, finalizers=["example.org/hold"])))
    rules = Rules(explain=explained, patience_seconds=0.5, holds_back=lambda _wave, _held, _later: ())
    done = removal(api, DEPLOYMENT, MAP, rules=rules)
    assert [item.ref for item in done.outcomes] == [MAP]
    assert len(done.problems) == 1


def test_progress_renews_the_patience(api: Any) -> None:
    """One object after the other disappears, each within the limit, all of them together not."""
    refs = [MAP._replace(name=name) for name in "abc"]
    for number, ref in enumerate(refs):
        api.on("DELETE", f"{MAPS}/{ref.name}", api.reply(body={}))
        there = [api.reply(body=live(ref))] * (3 * (number + 1))
        api.on("GET", f"{MAPS}/{ref.name}", *there, api.status(404, "NotFound", "gone"))
    done = removal(api, *refs, seconds=1.5)
    assert done.problems == []
    assert len(done.outcomes) == 3


@pytest.mark.parametrize(("named", "left"), [((), 1), (("ConfigMap n/a",), 0), (("ConfigMap n/b",), 1)])
def test_finalizers_are_stripped_only_of_the_object_that_is_named(api: Any, named: tuple[str, ...], left: int) -> None:
    held = live(MAP, finalizers=["example.org/hold"], resourceVersion="7")
    api.on("DELETE", f"{MAPS}/a", api.reply(body={}))
    api.on("GET", f"{MAPS}/a", api.reply(body=held))

    def strip(_request: Any) -> Any:
        api.on("GET", f"{MAPS}/a", api.status(404, "NotFound", "gone"))
        return api.reply(body=held)

    api.on("PATCH", f"{MAPS}/a", strip)
    done = removal(api, MAP, rules=Rules(explain=explained, patience_seconds=0.5, finalize=named))
    assert len(done.problems) == left
    sent = [request.body for request in api.seen("PATCH", f"{MAPS}/a")]
    guarded = {"metadata": {"uid": "uid-ConfigMap", "resourceVersion": "7", "finalizers": None}}
    assert sent == ([] if left else [guarded])


HOOKS = "/apis/admissionregistration.k8s.io/v1"
HOOK = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "h")
CUSTOM = Ref("example.org/v1", "Thing", "n", "a")
THINGS = "/apis/example.org/v1/namespaces/n/things"


def test_a_custom_resource_that_a_webhook_refuses_goes_after_the_webhooks(api: Any) -> None:
    """Volcano's webhook refuses to delete a queue that is open, and one without a backend refuses everything."""
    for path, plural, kind in ((HOOKS, "validatingwebhookconfigurations", HOOK.kind), (THINGS, "things", "Thing")):
        resource = {"name": plural, "kind": kind, "namespaced": kind == "Thing"}
        api.on("GET", path.partition("/namespaces")[0], api.reply(body={"resources": [resource]}))
    api.on("DELETE", f"{THINGS}/a", api.status(403, "Forbidden", "denied by h"), api.reply(body={}))
    api.on("DELETE", f"{HOOKS}/validatingwebhookconfigurations/h", api.reply(body={}))
    rules = Rules(explain=explained, patience_seconds=1.0, order=UNINSTALLING)
    done = removal(api, CUSTOM, HOOK, rules=rules, crds=[crd("things.example.org")])
    assert done.problems == []
    assert [item.ref for item in done.outcomes] == [HOOK, CUSTOM]


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


def test_what_is_being_deleted_already_is_not_to_be_deleted(api: Any) -> None:
    done = Removal(api.connect(), Deadline(60), silent, Rules(explain=explained), check=True)
    crds = {"metadata": {"resourceVersion": "1"}, "items": []}
    resource = {"name": "customresourcedefinitions", "kind": "CustomResourceDefinition", "namespaced": False}
    api.on("GET", CRDS, api.reply(body={"resources": [resource]}))
    api.on("GET", f"{CRDS}/customresourcedefinitions", api.reply(body=crds))
    done.run({MAP: live(MAP, deletionTimestamp="2027-01-01T00:00:00Z"), DEPLOYMENT: live(DEPLOYMENT)})
    assert [item.ref for item in done.outcomes] == [DEPLOYMENT]
