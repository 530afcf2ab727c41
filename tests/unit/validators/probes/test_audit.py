"""The account of requests that change something, and the last look at the cluster."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.acting import USER_AGENT, Acting
from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.validators.probes.audit import Audit, audit

PODS = "/api/v1/namespaces/mine/pods"
RUN = "0a1b2c3d"
OURS = Tracked(Ref("v1", "Pod", "mine", "p"), "u1")


def pod(name: str, uid: str = "", **meta: Any) -> Object:
    meta = {"name": name, "namespace": "mine", **({"uid": uid} if uid else {}), **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}}


@pytest.fixture
def cluster(api: Any) -> Acting:
    return Acting.connect(api.kubeconfig, user_agent=USER_AGENT)


def look(api: Any, cluster: Acting, *found: Object) -> Audit:
    api.on("GET", PODS, api.reply(200, {"items": list(found), "metadata": {"resourceVersion": "5"}}))
    account = Cleanup(created=(OURS,), removed=(OURS,), left=(), swept=(), seconds=0.1)
    return audit(cluster, account, [RUN], "mine")


def labelled(run: str) -> dict[str, Any]:
    return {"labels": {RUN_LABEL: run}}


def test_what_a_run_makes_and_removes_is_its_own(api: Any, cluster: Acting) -> None:
    api.on("POST", PODS, api.reply(201, pod("p", "u1", **labelled(RUN))))
    api.on("DELETE", f"{PODS}/p", api.reply(200, {}))
    cluster.create(pod("p", **labelled(RUN)))
    cluster.delete(OURS.ref, uid="u1")
    found = look(api, cluster)
    assert (found.writes, found.foreign_writes, found.present, found.touched) == (2, (), (), ())


def test_requests_about_others_are_strangers(api: Any, cluster: Acting) -> None:
    api.on("DELETE", f"{PODS}/theirs", api.reply(200, {}))
    api.on("PATCH", f"{PODS}/theirs", api.reply(200, pod("theirs", "u9")))
    api.on("POST", PODS, api.reply(201, pod("bare", "u8")))
    theirs = Ref("v1", "Pod", "mine", "theirs")
    cluster.delete(theirs, uid="u9")
    cluster.patch(theirs, {})
    cluster.create(pod("bare"))
    assert look(api, cluster).foreign_writes == (f"DELETE {PODS}/theirs", f"PATCH {PODS}/theirs", f"POST {PODS}")


def test_a_refused_request_changed_nothing_and_an_unanswered_one_may_have(api: Any, cluster: Acting) -> None:
    theirs = Ref("v1", "Pod", "mine", "theirs")
    api.on("PATCH", f"{PODS}/theirs", api.status(403, "Forbidden", "no"))
    with pytest.raises(ApiError):
        cluster.patch(theirs, {})
    assert cluster.writes == []
    api.on("DELETE", f"{PODS}/theirs", api.status(503, "ServiceUnavailable", "later"))
    with pytest.raises(ApiError):
        cluster.delete(theirs, uid="u9", deadline=Deadline(0.2))
    assert look(api, cluster).foreign_writes == (f"DELETE {PODS}/theirs",)


def test_a_refusal_does_not_hide_a_request_to_the_same_path_that_is_still_under_way(api: Any, cluster: Acting) -> None:
    arrived, refused = threading.Event(), threading.Event()

    def slowly(_request: Any) -> Any:
        arrived.set()
        refused.wait(30)
        return api.reply(201, pod("p", "u1"))

    api.on("POST", PODS, slowly, api.status(403, "Forbidden", "no"))
    thread = threading.Thread(target=cluster.create, args=(pod("p", **labelled(RUN)),))
    thread.start()
    assert arrived.wait(30)
    with pytest.raises(ApiError):
        cluster.create(pod("q", **labelled(RUN)))
    refused.set()
    thread.join()
    assert [item.uid for item in cluster.writes] == ["u1"]


def test_a_dry_run_is_no_change(api: Any, cluster: Acting) -> None:
    api.on("POST", PODS, api.reply(201, pod("p", "u1")))
    cluster.create(pod("p"), dry_run=True)
    assert cluster.writes == []


def test_what_is_left_is_known_by_uid_or_by_label(api: Any, cluster: Acting) -> None:
    another = pod("p", "u2")  # of the same name, made by somebody else since
    assert look(api, cluster, another).present == ()
    assert [item.uid for item in look(api, cluster, pod("p", "u1")).present] == ["u1"]
    assert [item.uid for item in look(api, cluster, pod("q", "u3", **labelled(RUN))).present] == ["u3"]


def test_a_field_of_ours_in_an_object_of_others_is_a_touch(api: Any, cluster: Acting) -> None:
    ours = [{"manager": USER_AGENT, "operation": "Update"}]
    theirs = [{"manager": "kubectl", "operation": "Update"}]
    found = look(
        api,
        cluster,
        pod("touched", "u5", managedFields=[*theirs, *ours]),
        pod("of-another-run", "u6", managedFields=ours, **labelled("ffffffff")),
        pod("untouched", "u7", managedFields=theirs),
    )
    assert [item.name for item in found.touched] == ["touched"]
    assert found.seen == 3


def test_the_accounts_of_two_passes_add_up() -> None:
    second = Cleanup(created=(OURS,), removed=(), left=(OURS,), swept=(), seconds=2.0)
    first = Cleanup(created=(), removed=(), left=(), swept=(OURS,), seconds=1.0)
    assert second.plus(None) is second
    assert second.plus(first) == Cleanup((OURS,), (), (OURS,), (OURS,), 3.0)
