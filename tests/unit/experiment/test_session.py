"""A session's bookkeeping against a server that loses answers and refuses; a real one does neither on cue."""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.namespaces import Obstacle
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch import observer
from kubeflow_volcano.experiment import closing
from kubeflow_volcano.experiment.acting import Acting
from kubeflow_volcano.experiment.closing import SHARED
from kubeflow_volcano.experiment.leftovers import EXPIRES, KINDS, OWNER, expired, this_process
from kubeflow_volcano.experiment.remains import Tracked
from kubeflow_volcano.experiment.session import EVERYWHERE, Options, ProbeRefused, Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.validators.checks import CHECKS

PODS = "/api/v1/namespaces/mine/pods"
NAMESPACES = "/api/v1/namespaces"
JOBS = {"kind": "TFJob", "name": "tfjobs", "namespaced": True}
LIMITS = {"kind": "LimitRange", "name": "limitranges", "namespaced": True}
POD_KIND = {"kind": "Pod", "name": "pods", "namespaced": True}


def pod(name: str = "p") -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "mine"}, "spec": {}}


def live(body: Object, uid: str = "u1") -> Object:
    return body | {"metadata": body["metadata"] | {"uid": uid, "resourceVersion": "1"}}


def listing(*items: Object) -> Object:
    return {"items": list(items), "metadata": {"resourceVersion": "5"}}


@pytest.fixture
def session(api: Any) -> Session:
    """A session that stays in the namespace `mine`."""
    return Session(api.connect(), options=Options(namespace="mine"))


def served(api: Any, uid: str = "u1") -> None:
    """Let pods be created, found once, deleted, and be gone from then on."""
    api.on("POST", PODS, lambda request: api.reply(201, live(request.body, uid)))
    api.on("DELETE", f"{PODS}/p", api.reply(200, {}))
    api.on("GET", PODS, api.reply(200, listing()))


def test_everything_bears_the_run_and_an_expiry_in_a_quarter_of_an_hour(api: Any, session: Session) -> None:
    served(api)
    meta = session.create(pod())["metadata"]
    assert re.fullmatch("[0-9a-f]{8}", session.run)
    assert meta["labels"][RUN_LABEL] == session.run
    left = datetime.fromisoformat(meta["annotations"][EXPIRES]) - datetime.now(UTC)
    assert 14 * 60 < left.total_seconds() <= 15 * 60


def test_a_lost_answer_is_made_up_for_by_what_exists(api: Any, session: Session) -> None:
    exists = api.status(409, "AlreadyExists", 'pods "p" already exists')
    api.on("POST", PODS, api.reply(reset=True), exists)
    labels = {RUN_LABEL: session.run}
    api.on("GET", f"{PODS}/p", api.reply(200, live(pod() | {"metadata": pod()["metadata"] | {"labels": labels}}, "u7")))
    assert session.create(pod())["metadata"]["uid"] == "u7"
    assert [item.uid for item in session.tracked] == ["u7"]


def test_somebody_elses_object_of_the_same_name_is_a_refusal(api: Any, session: Session) -> None:
    api.on("POST", PODS, api.status(409, "AlreadyExists", 'pods "p" already exists'))
    api.on("GET", f"{PODS}/p", api.reply(200, live(pod())))
    with pytest.raises(ProbeRefused, match="already exists"):
        session.create(pod())
    assert session.tracked == ()


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        (403, "Forbidden", 'pods "p" is forbidden: exceeded quota: team'),
        (403, "Forbidden", 'pods "p" is forbidden: violates PodSecurity "restricted:latest"'),
        (403, "Forbidden", "pods is forbidden: maximum cpu usage per Container is 5m"),
        (400, "BadRequest", 'admission webhook "validatepod.volcano.sh" denied the request'),
        (500, "InternalError", 'failed calling webhook "mutatepod.volcano.sh": no endpoints available for service'),
    ],
)
def test_a_refusal_is_told_in_the_servers_words(api: Any, session: Session, code: int, reason: str, text: str) -> None:
    api.on("POST", PODS, api.status(code, reason, text))
    with pytest.raises(ProbeRefused, match=re.escape(text)):
        session.create(pod())


def test_a_server_that_does_not_answer_in_time_is_no_refusal(api: Any, session: Session) -> None:
    api.on("POST", PODS, api.status(503, "ServiceUnavailable", "try later"))
    with pytest.raises(ApiError, match="try later"):
        session.create(pod(), seconds=0.3)


def test_removal_names_the_uid_and_asks_for_no_grace(api: Any, session: Session) -> None:
    served(api)
    session.create(pod())
    account = session.close(5)
    (sent,) = api.seen("DELETE", f"{PODS}/p")
    assert sent.body["preconditions"] == {"uid": "u1"}
    assert sent.body["gracePeriodSeconds"] == 0
    assert ([item.uid for item in account.removed], account.left) == (["u1"], ())


def test_the_namespace_that_a_person_named_is_never_deleted(api: Any, session: Session) -> None:
    served(api)
    assert session.namespace(Level.PRIVILEGED) == "mine"
    session.create(pod())
    session.close(5)
    assert not [item for item in api.requests if item.method == "DELETE" and not item.path.startswith(PODS)]


def test_what_will_not_go_is_left_with_its_holder(api: Any, session: Session) -> None:
    served(api)
    session.create(pod())
    stuck = live(pod())
    stuck["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}
    api.on("GET", PODS, api.reply(200, listing(stuck)))
    account = session.close(0.6)
    assert [item.uid for item in account.left] == ["u1"]
    assert "example.com/hold" in account.left[0].why
    assert account.removed == ()


@pytest.mark.parametrize("lists", [{"p0": "A", "p1": "AA", "p2": "AAA", "p3": "AAAA"}, {"p0": "ABCD"}])
def test_a_slow_cluster_is_waited_for_while_there_is_news(
    api: Any, session: Session, lists: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each list of a pod tells what holds it, until it is gone: in all, this takes more than twice the patience."""
    monkeypatch.setattr(observer, "_BRIEF_SECONDS", 0.4)
    words = {name: iter(text) for name, text in lists.items()}
    api.on("POST", PODS, lambda request: api.reply(201, live(request.body, request.body["metadata"]["name"])))
    for name in words:
        session.create(pod(name))
        api.on("DELETE", f"{PODS}/{name}", api.reply(200, {}))

    def listed(request: Any) -> Any:
        if "watch" in request.query:
            return api.reply(lines=[], hold=0.5, cut=True)  # so that it is listed again
        name = request.query["fieldSelector"].removeprefix("metadata.name=")
        found = live(pod(name), name)
        for word in words[name]:
            found["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [word]}
            return api.reply(200, listing(found))
        return api.reply(200, listing())

    api.on("GET", PODS, listed)
    account = session.close(1.2)
    assert (len(account.removed), account.left) == (len(lists), ())
    assert account.seconds > 2 * 1.2


def test_another_object_of_the_same_name_does_not_count_as_left(api: Any, session: Session) -> None:
    served(api)
    session.create(pod())
    api.on("GET", PODS, api.reply(200, listing(live(pod(), "another"))))
    assert session.close(5).left == ()


def test_a_server_that_is_away_proves_nothing(api: Any, session: Session) -> None:
    served(api)
    session.create(pod())
    for method, path in (("DELETE", f"{PODS}/p"), ("GET", PODS)):
        api.on(method, path, api.status(503, "ServiceUnavailable", "away"))
    assert [item.uid for item in session.close(0.6).left] == ["u1"]


def test_closing_twice_tells_the_same(api: Any, session: Session) -> None:
    served(api)
    session.create(pod())
    first, second = session.close(5), session.close(5)
    assert (first.created, first.removed) == (second.created, second.removed)


def test_nothing_is_created_once_the_session_ends(api: Any, session: Session) -> None:
    served(api)
    session.stop()
    with pytest.raises(ProbeRefused, match="ending"):
        session.create(pod())
    assert api.seen("POST", PODS) == []


def test_what_another_api_keeps_is_told_with_what_is_left_and_its_objects_are_waited_for(
    api: Any, session: Session
) -> None:
    served(api)
    kept = Tracked(Ref("pipelines.kubeflow.org/v2beta1", "Run", "mine", "r"), "r", "no database")

    def remove() -> tuple[Tracked, ...]:
        session.part("other").adopt(live(pod()))  # as what it sees of its own when the run ends
        return (kept,)

    session.part("other").at_close(remove)
    account = session.close()
    assert account.left == (kept,)
    assert [item.uid for item in account.removed] == ["u1"]


def test_a_token_that_is_asked_for_is_no_change_of_the_cluster(api: Any) -> None:
    path = "/api/v1/namespaces/mine/serviceaccounts/default-editor/token"
    api.on("POST", path, api.reply(201, {"status": {"token": "t"}}))
    cluster = Acting.connect(api.kubeconfig)
    cluster.request("POST", path, body={"spec": {}})
    assert cluster.writes == []


class Signal(BaseException):
    """What a signal handler raises in the middle of a request."""


def test_an_object_whose_answer_a_signal_cut_off_is_found_and_removed(
    api: Any, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(api)
    create: Callable[..., Object] = session.cluster.create
    made: list[Object] = []

    def interrupted(*args: Any, **options: Any) -> Object:
        made.append(create(*args, **options))
        raise Signal

    monkeypatch.setattr(session.cluster, "create", interrupted)
    with pytest.raises(Signal):
        session.create(pod())
    api.on("GET", f"{PODS}/p", lambda _: api.reply(200, made[0]))
    account = session.close(3600)  # as long as an answer under way is waited for
    assert [item.uid for item in account.removed] == ["u1"]
    assert len(api.seen("DELETE", f"{PODS}/p")) == 1


def test_a_creation_in_another_thread_is_waited_for(api: Any, session: Session) -> None:
    arrived = threading.Event()

    def slowly(request: Any) -> Any:
        arrived.set()
        time.sleep(0.5)
        return api.reply(201, live(request.body, "late"))

    served(api)
    api.on("POST", PODS, slowly)
    thread = threading.Thread(target=session.create, args=(pod(),))
    thread.start()
    assert arrived.wait(30)
    account = session.close(5)
    thread.join()
    assert [item.uid for item in account.removed] == ["late"]


FAR = "2999-01-01T00:00:00Z"


def leftover(name: str, *, run: str = "ffffffff", expires: str = "2020-01-01T00:00:00Z", owner: str = "") -> Object:
    annotations = {EXPIRES: expires} if expires else {}
    meta: Object = {"name": name, "uid": f"uid-{name}", "annotations": annotations | ({OWNER: owner} if owner else {})}
    meta["labels"] = {RUN_LABEL: run}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def test_only_expired_namespaces_of_other_runs_with_our_name_are_swept(api: Any) -> None:
    session = Session(api.connect())
    found = [
        leftover("kfv-smoke-00000001"),
        leftover("kfv-smoke-00000002-privileged"),
        leftover("kfv-demo-00000007-team-a"),
        leftover("kfv-smoke-00000003", expires=FAR),
        leftover("kfv-smoke-00000004", expires=""),
        leftover("kfv-smoke-00000005", expires="soon"),
        leftover("kfv-smoke-00000006", run=session.run),
        leftover("production"),
        leftover("kfv-smoke-production"),
        leftover("kfv-demo"),
    ]
    api.on("GET", NAMESPACES, api.reply(200, listing(*found)), api.reply(200, listing()))
    for item in found:
        api.on("DELETE", f"{NAMESPACES}/{item['metadata']['name']}", api.reply(200, {}))
    session.sweep()
    swept = ["uid-kfv-demo-00000007-team-a", "uid-kfv-smoke-00000001", "uid-kfv-smoke-00000002-privileged"]
    assert sorted(item.body["preconditions"]["uid"] for item in api.requests if item.method == "DELETE") == swept
    account = session.close(5)
    assert sorted(item.uid for item in account.swept) == swept
    assert account.created == ()


@pytest.mark.programs
def test_what_a_process_of_this_machine_left_goes_when_the_process_has(api: Any) -> None:
    with subprocess.Popen(["sleep", "20"]) as child:
        alive = this_process(child.pid)
        boot, space, pid, since = alive.split()
        gone = leftover("kfv-smoke-00000001", expires=FAR, owner=f"{boot} {space} {pid} {int(since) - 1}")
        kept = (
            leftover("kfv-smoke-00000002", expires=FAR, owner=alive),
            leftover("kfv-smoke-00000003", expires=FAR, owner=f"another-boot {space} 1 1"),
            leftover("kfv-smoke-00000004", expires=FAR, owner=f"{boot} 1 1 1"),
        )
        api.on("GET", NAMESPACES, api.reply(200, listing(gone, *kept)))
        assert [item.uid for item in expired(api.connect(), "0a1b2c3d")] == ["uid-kfv-smoke-00000001"]
        child.kill()
    names = [item.ref.name for item in expired(api.connect(), "0a1b2c3d")]
    assert names == ["kfv-smoke-00000001", "kfv-smoke-00000002"]


def test_leftovers_that_may_not_be_listed_do_not_end_the_run(api: Any) -> None:
    told: list[str] = []
    api.on("GET", NAMESPACES, api.status(403, "Forbidden", "namespaces is forbidden"))
    Session(api.connect(), told.append).sweep()
    assert "forbidden" in told[0]


QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


def queue(name: str = "q") -> Object:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {}}


def served_queues(api: Any) -> None:
    kinds = {"resources": [{"kind": "Queue", "name": "queues", "namespaced": False}]}
    api.on("GET", "/apis/scheduling.volcano.sh/v1beta1", api.reply(200, kinds))


def test_queues_go_when_no_pod_is_left_and_one_that_is_refused_is_closed_first(
    api: Any, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "_SHARED_SECONDS", 0.3)
    served(api)
    served_queues(api)
    api.on("POST", QUEUES, lambda request: api.reply(201, live(request.body, "q1")))
    api.on("DELETE", f"{QUEUES}/q", api.status(403, "Forbidden", "queue q is Open"), api.reply(200, {}))
    api.on("PATCH", f"{QUEUES}/q/status", api.reply(200, {}))
    api.on("GET", QUEUES, api.reply(200, listing(live(queue(), "q1"))), api.reply(200, listing()))
    session.create(queue())
    session.create(pod())
    account = session.close(10)
    told = [(item.method, item.path) for item in api.requests if item.method in {"DELETE", "PATCH"}]
    assert told == [
        ("DELETE", f"{PODS}/p"),
        ("DELETE", f"{QUEUES}/q"),
        ("PATCH", f"{QUEUES}/q/status"),
        ("DELETE", f"{QUEUES}/q"),
    ]
    assert ({item.uid for item in account.removed}, account.left) == ({"u1", "q1"}, ())


def test_a_queue_that_will_not_go_is_left_with_what_the_server_says(api: Any, session: Session) -> None:
    served_queues(api)
    api.on("POST", QUEUES, lambda request: api.reply(201, live(request.body, "q1")))
    api.on("DELETE", f"{QUEUES}/q", api.status(403, "Forbidden", "queue q is Open"))
    api.on("GET", QUEUES, api.reply(200, listing(live(queue(), "q1"))))
    session.create(queue())
    (left,) = session.close(0.6).left
    assert (left.uid, "q is Open" in left.why) == ("q1", True)


def test_queues_of_other_runs_are_swept_where_they_are_asked_for(api: Any) -> None:
    served_queues(api)
    old = leftover("q") | {"kind": "Queue", "apiVersion": "scheduling.volcano.sh/v1beta1"}
    api.on("GET", NAMESPACES, api.reply(200, listing()))
    api.on("GET", QUEUES, api.reply(200, listing(old)))
    cluster = api.connect()
    assert expired(cluster, "0a1b2c3d") == ()
    assert [item.uid for item in expired(cluster, "0a1b2c3d", kinds=SHARED)] == ["uid-q"]


def test_an_identity_is_address_and_uid() -> None:
    assert Tracked.of(live(pod())) == Tracked.of(live(pod()) | {"status": {"phase": "Running"}})
    assert Tracked.of(live(pod())) != Tracked.of(live(pod(), "u2"))


def test_kinds_that_may_not_be_looked_for_do_not_keep_others_from_being_swept(api: Any) -> None:
    api.on("GET", PODS, api.reply(200, listing(leftover("p") | {"kind": "Pod"})))
    api.on("GET", "/api/v1/namespaces/mine/services", api.reply(200, listing()))
    api.on("GET", "/apis/kubeflow.org/v1", api.reply(200, {"resources": [JOBS]}))
    api.on("GET", "/apis/kubeflow.org/v1/namespaces/mine/tfjobs", api.status(403, "Forbidden", "tfjobs is forbidden"))
    assert [item.uid for item in expired(api.connect(), "0a1b2c3d", "mine")] == ["uid-p"]


def test_every_kind_that_probes_create_is_swept_from_a_namespace_of_others() -> None:
    made = {rule.plural_group for item in CHECKS if item.probe for rule in item.rules if rule.verb == "create"}
    made = {name for name in made if "/" not in name}  # to ask something of a pod leaves nothing
    swept = {
        f"{kind.lower()}s.{version.partition('/')[0]}" if "/" in version else f"{kind.lower()}s"
        for version, kind in KINDS
    }
    assert made - swept == {"namespaces", "resourcequotas"}, "which are made only where the namespace is"


def test_pods_are_made_to_fit_the_limit_ranges_of_their_namespace(api: Any, session: Session) -> None:
    served(api)
    limits = {"limits": [{"type": "Container", "min": {"cpu": "50m"}}]}
    api.on("GET", "/api/v1", api.reply(200, {"resources": [LIMITS, POD_KIND]}))
    api.on(
        "GET",
        "/api/v1/namespaces/mine/limitranges",
        api.reply(200, listing({"metadata": {"name": "l"}, "spec": limits})),
    )
    container = {"name": "c", "resources": {"requests": {"cpu": "10m"}}}
    for name in ("p", "q"):
        made = session.create(pod(name) | {"spec": {"containers": [container]}})
        assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "50m"}
    assert len(api.seen("GET", "/api/v1/namespaces/mine/limitranges")) == 1


UID = "0a1b2c3d-0000-4000-8000-000000000001"
OTHER = "0a1b2c3d-0000-4000-8000-000000000002"
CLAIMS = "/api/v1/namespaces/mine/persistentvolumeclaims"


def helper(claim: str, phase: str, **meta: Any) -> Object:
    name = f"helper-pod-create-pvc-{claim}"
    return {
        "metadata": {"name": name, "namespace": "local-path-storage", "uid": f"{phase}-{claim}", **meta},
        "spec": {},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("pods", "deleted"),
    [
        ([helper(UID, "Failed"), helper(OTHER, "Failed")], [f"Failed-{UID}"]),
        ([helper(UID, "Pending")], [f"Pending-{UID}"]),
        ([helper(UID, "Running")], []),
        ([helper(UID, "Failed", ownerReferences=[{"kind": "Job"}])], []),
    ],
)
def test_what_a_provisioner_left_of_an_own_claim_goes_with_it(
    api: Any, session: Session, pods: list[Object], deleted: list[str]
) -> None:
    kind = {"kind": "PersistentVolumeClaim", "name": "persistentvolumeclaims", "namespaced": True}
    volumes = {"kind": "PersistentVolume", "name": "persistentvolumes", "namespaced": False}
    api.on("GET", "/api/v1", api.reply(body={"resources": [kind, volumes, POD_KIND, LIMITS]}))
    api.on("POST", CLAIMS, lambda request: api.reply(201, live(request.body, UID)))
    api.on("DELETE", f"{CLAIMS}/c", api.reply(200, {}))
    for path in (CLAIMS, "/api/v1/persistentvolumes", "/api/v1/namespaces/local-path-storage/pods"):
        api.on("GET", path, api.reply(200, listing()))
    api.on("GET", f"{CLAIMS}/c", api.status(404, "NotFound", "gone"))
    api.on("GET", "/api/v1/pods", api.reply(200, listing(*pods)))
    for item in pods:
        path = f"/api/v1/namespaces/local-path-storage/pods/{item['metadata']['name']}"
        api.on("DELETE", path, api.reply(200, {}))
    session.create(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "mine"}}
    )
    account = session.close(5)
    found = [request.body["preconditions"]["uid"] for request in api.requests if request.method == "DELETE"]
    assert found == [UID, *deleted]
    assert [item.uid for item in account.removed] == [UID, *deleted]
    assert account.left == ()


DENIED = "ValidatingAdmissionPolicy 'no-gangs' with binding 'all' denied request: not here"


def ordinary() -> Object:
    found = pod()
    found["spec"] = {"containers": [{"name": "c"}], "securityContext": {"runAsNonRoot": True}}
    return found


@pytest.mark.parametrize(
    ("there", "spec", "everywhere"),
    [
        (DENIED, {}, True),
        (DENIED, {"schedulerName": "volcano"}, True),
        (None, {}, False),
        ("ValidatingAdmissionPolicy 'other' with binding 'all' denied request: no", {}, False),
        ('User "u" cannot create resource "pods"', {}, False),
        (DENIED, {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, False),
        (DENIED, {"securityContext": {}}, False),
    ],
)
def test_a_refusal_says_whether_ordinary_namespaces_deny_the_same(
    api: Any, session: Session, there: str | None, spec: Object, *, everywhere: bool
) -> None:
    spaces = [{"metadata": {"name": name}} for name in ("mine", "kube-system", "team")]
    api.on("GET", NAMESPACES, api.reply(200, listing(*spaces)))
    api.on("GET", "/api/v1/namespaces/mine/limitranges", api.reply(200, listing()))
    api.on("POST", PODS, api.status(403, "Forbidden", DENIED))
    elsewhere = api.status(403, "Forbidden", there) if there else api.reply(201, live(pod()))
    api.on("POST", "/api/v1/namespaces/team/pods", elsewhere)
    api.on("GET", "/api/v1/namespaces/team/pods", api.reply(200, listing(live(ordinary()))))
    obj = ordinary()
    obj["spec"] |= spec
    with pytest.raises(ProbeRefused) as refusal:
        session.create(obj)
    assert (EVERYWHERE in str(refusal.value)) is everywhere
    assert str(refusal.value).endswith(": team)") is everywhere
    tried = [item for item in api.requests if (item.method, item.path) == ("POST", "/api/v1/namespaces/team/pods")]
    assert all(item.query.get("dryRun") == "All" for item in tried)
    assert all(RUN_LABEL not in item.body["metadata"]["labels"] for item in tried)


@pytest.mark.parametrize("scheduler", ["", "volcano"])
def test_a_policy_that_the_pods_there_comply_with_is_the_clusters_only_if_it_is_against_the_scheduler(
    api: Any, session: Session, scheduler: str
) -> None:
    api.on("GET", NAMESPACES, api.reply(200, listing({"metadata": {"name": "team"}})))
    api.on("GET", "/api/v1/namespaces/mine/limitranges", api.reply(200, listing()))
    api.on("POST", PODS, api.status(403, "Forbidden", DENIED))
    theirs = live(ordinary())
    theirs["metadata"]["labels"] = {"cost-centre": "7"}
    api.on("GET", "/api/v1/namespaces/team/pods", api.reply(200, listing(theirs)))

    def admit(request: Any) -> Any:
        named = "cost-centre" in (request.body["metadata"].get("labels") or {})
        gang = request.body["spec"].get("schedulerName") == "volcano"
        return (
            api.reply(201, live(pod())) if named or (scheduler and not gang) else api.status(403, "Forbidden", DENIED)
        )

    api.on("POST", "/api/v1/namespaces/team/pods", admit)
    obj = ordinary()
    obj["spec"] |= {"schedulerName": scheduler} if scheduler else {}
    with pytest.raises(ProbeRefused) as refusal:
        session.create(obj)
    assert (EVERYWHERE in str(refusal.value)) is bool(scheduler)


def test_a_policy_on_namespaces_concerns_the_probe_alone(api: Any, session: Session) -> None:
    api.on("GET", NAMESPACES, api.reply(200, listing({"metadata": {"name": "team"}})))
    api.on("POST", NAMESPACES, api.status(403, "Forbidden", DENIED))
    with pytest.raises(ProbeRefused) as refusal:
        session.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kfv-smoke-x"}})
    assert EVERYWHERE not in str(refusal.value)


def test_probe_pods_get_the_logins_by_one_secret_of_their_namespace_which_the_session_removes(api: Any) -> None:
    served(api)
    secrets = "/api/v1/namespaces/mine/secrets"
    secret_kind = {"kind": "Secret", "name": "secrets", "namespaced": True}
    api.on("GET", "/api/v1", api.reply(200, {"resources": [secret_kind, POD_KIND]}))
    api.on("POST", secrets, lambda request: api.reply(201, live(request.body, "u2")))
    session = Session(api.connect(), options=Options(namespace="mine", registry_logins='{"auths": {}}'))
    assert "auths" not in repr(session.options)
    for name in ("p", "q"):
        session.create({**pod(name), "spec": {"containers": [{"name": "c", "image": "own.lan/a:1"}]}})
    (secret,) = (request.body for request in api.seen("POST", secrets))
    assert (secret["type"], secret["data"]) == (
        "kubernetes.io/dockerconfigjson",
        {".dockerconfigjson": "eyJhdXRocyI6IHt9fQ=="},
    )
    assert secret["metadata"]["labels"][RUN_LABEL] == session.run
    made = [request.body["spec"]["imagePullSecrets"] for request in api.seen("POST", PODS)]
    assert made == [[{"name": secret["metadata"]["name"]}]] * 2
    assert next(item.ref.kind for item in session.tracked) == "Secret"


# what keeps namespaces from going


@pytest.fixture
def usable(api: Any) -> Any:
    """A server on which namespaces can be created and are usable at once."""
    kinds = {"Namespace": False, "Pod": True, "ResourceQuota": True, "ServiceAccount": True}
    resources = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": scope} for kind, scope in kinds.items()]
    api.on("GET", "/api/v1", api.reply(200, {"resources": resources}))
    api.on("GET", NAMESPACES, api.reply(200, listing()))

    def create(request: Any) -> Any:
        path = f"{NAMESPACES}/{request.body['metadata']['name']}"
        account = {"metadata": {"name": "default", "uid": "a"}}
        api.on("GET", f"{path}/serviceaccounts", api.reply(200, listing(account)))
        api.on("POST", f"{path}/resourcequotas", count)
        api.on("DELETE", path, api.reply(200, {}))
        return api.reply(201, live(request.body, path))

    def count(request: Any) -> Any:
        hard = request.body["spec"]["hard"]
        quota = live(request.body, request.path) | {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        api.on("GET", request.path, api.reply(200, listing(quota)))
        return api.reply(201, quota)

    api.on("POST", NAMESPACES, create)
    return api


def test_no_namespace_is_made_that_could_not_be_deleted(usable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def held(*_: object) -> tuple[Obstacle, ...]:
        asked.append("once")
        return (Obstacle(Ref("v1", "Namespace", "", "old"), "nobody deletes them", "start it."),)

    monkeypatch.setattr("kubeflow_volcano.experiment.session.obstacles", held)
    session = Session(usable.connect())
    for part in ("storage", "gang"):
        with pytest.raises(ProbeRefused, match="nobody deletes them"):
            session.part(part).namespace()
    assert (usable.seen("POST", NAMESPACES), asked, session.close(5).created) == ([], ["once"], ())


def test_a_namespace_that_a_person_gave_is_used_whatever_keeps_others_from_going(api: Any, session: Session) -> None:
    assert (session.obstacles(), session.namespace(), api.seen("POST", NAMESPACES)) == ((), "mine", [])


@pytest.mark.parametrize(
    ("text", "made"),
    [('admission webhook "guard.example.com" denied the request: no', 1), ('webhook "g" does not support dry run', 2)],
)
def test_one_namespace_shows_whether_others_could_be_deleted(usable: Any, text: str, made: int) -> None:
    create = usable.answer

    def answer(request: Any) -> Any:
        refused = request.method == "DELETE" and request.body.get("dryRun") == ["All"]
        return usable.status(403, "Forbidden", text) if refused else create(request)

    usable.answer = answer
    session = Session(usable.connect())
    for part in ("storage", "gang"):
        with contextlib.suppress(ProbeRefused):
            session.part(part).namespace()
    assert len(usable.seen("POST", NAMESPACES)) == made


INJECTED = 'pods "p" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true (container "agent")'


@pytest.mark.parametrize(("refusal", "level"), [(INJECTED, "privileged"), ("exceeded quota: kfv", "restricted")])
def test_the_own_level_does_not_refuse_what_webhooks_of_others_add(usable: Any, refusal: str, level: str) -> None:
    create = usable.answer

    def answer(request: Any) -> Any:
        return usable.status(403, "Forbidden", refusal) if request.path.endswith("/pods") else create(request)

    usable.answer = answer
    session = Session(usable.connect())
    name = session.namespace(Level.RESTRICTED)
    (made,) = (item.body for item in usable.seen("POST", NAMESPACES) if item.body["metadata"]["name"] == name)
    assert made["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == level
    assert session.namespace(Level.RESTRICTED) == name
    assert (session.namespace(Level.PRIVILEGED) == name) is (level == "privileged")
