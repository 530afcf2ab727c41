"""Probes of different rooms act at the same time, in namespaces of their own, and everything ends with the session."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.namespaces import Obstacle
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.interruption import Interrupted, interruptible
from kubeflow_volcano.experiment.session import Options, Session
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.facts import Facts, Probe, Unread
from kubeflow_volcano.validators.core.outcome import Severity, skipped
from kubeflow_volcano.validators.probes.acting import ACTING
from kubeflow_volcano.validators.run.probing import Probing
from tests.samples.facts import facts
from tests.waiting import until

Action = Callable[[Session, Progress], Any]
SECONDS = 30
KINDS = {"Namespace": False, "Pod": True, "ResourceQuota": True, "ServiceAccount": True}


class Server:
    """An API server on which namespaces can be created, are usable at once, and are gone when deleted."""

    def __init__(self, api: Any) -> None:
        self.namespaces: dict[str, Object] = {}
        self.api = api
        resources = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": scope} for kind, scope in KINDS.items()]
        api.on("GET", "/api/v1", api.reply(200, {"resources": resources}))
        api.on("POST", "/api/v1/namespaces", self._create)
        api.on("GET", "/api/v1/namespaces", lambda _: self._listing(*self.namespaces.values()))

    def _listing(self, *items: Object) -> Any:
        return self.api.reply(200, {"items": list(items), "metadata": {"resourceVersion": "5"}})

    def _create(self, request: Any) -> Any:
        name = request.body["metadata"]["name"]
        path = f"/api/v1/namespaces/{name}"
        self.namespaces[name] = self._stored(request.body)
        account = {"metadata": {"name": "default", "namespace": name, "uid": f"account-{name}"}}
        self.api.on("GET", f"{path}/serviceaccounts", self._listing(account))
        self.api.on("POST", f"{path}/resourcequotas", self._count)
        self.api.on("DELETE", path, self._delete)
        return self.api.reply(201, self.namespaces[name])

    def _count(self, request: Any) -> Any:
        hard = request.body["spec"]["hard"]
        quota = self._stored(request.body) | {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        self.api.on("GET", request.path, self._listing(quota))
        return self.api.reply(201, quota)

    def _delete(self, request: Any) -> Any:
        if request.body.get("dryRun") == ["All"]:
            return self.api.reply(200, {})
        del self.namespaces[request.path.rpartition("/")[2]]
        return self.api.reply(200, {})

    @staticmethod
    def _stored(body: Object) -> Object:
        uid = f"{body['kind']}-{body['metadata']['name']}-{body['metadata'].get('namespace', '')}"
        return body | {"metadata": body["metadata"] | {"uid": uid, "resourceVersion": "1"}}


@pytest.fixture
def server(api: Any) -> Server:
    return Server(api)


def probing(server: Server, progress: Progress = silent, namespace: str = "") -> Probing:
    return Probing.begin(server.api.connect(), facts(), Options(namespace=namespace), progress)


def a_probe(name: str, act: Action, room: str = "") -> Probe[Any]:
    def run(session: Session, _facts: Facts, progress: Progress) -> Any:
        return act(session, progress)

    return Probe[Any](name, run, room or name)


def meeting(number: int, where: list[str] | None = None) -> Action:
    """An action that ends when so many of its kind act at the same time."""
    barrier = threading.Barrier(number)

    def act(session: Session, _progress: Progress) -> int:
        namespace = session.namespace()
        if where is not None:
            where.append(namespace)
        return barrier.wait(SECONDS)

    return act


def test_rooms_act_at_the_same_time_in_namespaces_of_their_own_with_one_account(server: Server) -> None:
    where: list[str] = []
    act = meeting(3, where)
    several = [a_probe(name, act) for name in ("storage", "operator", "gang")]
    run = probing(server)
    run.run(several)
    assert sorted(run.evidences.values()) == [0, 1, 2]
    assert sorted(where) == sorted(f"kfv-smoke-{run.session.run}-{item.room}" for item in several)
    assert run.session.account
    created = {item.ref.name for item in run.session.account.created if item.ref.kind == "Namespace"}
    assert created == set(where)
    assert (run.session.account.left, server.namespaces) == ((), {})


@pytest.mark.parametrize(("rooms", "given"), [(("a", "a"), ""), (("a", "b"), "mine")])
def test_probes_of_one_room_and_of_one_given_namespace_take_turns(
    server: Server, rooms: tuple[str, str], given: str
) -> None:
    acting = threading.Lock()

    def alone(session: Session, _progress: Progress) -> str:
        assert acting.acquire(blocking=False), "another probe acts at the same time"
        threading.Event().wait(0.2)
        acting.release()
        return session.namespace()

    several = [a_probe(f"probe-{number}", alone, room) for number, room in enumerate(rooms)]
    run = probing(server, namespace=given)
    run.run(several)
    assert len(run.evidences) == 2
    assert set(run.evidences.values()) == {given or f"kfv-smoke-{run.session.run}-a"}


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("x"), "ProbeBroke"), (ApiError(403, "Forbidden", "no"), "Forbidden")]
)
def test_a_probe_that_breaks_ends_neither_its_room_nor_the_others(
    server: Server, error: Exception, reason: str
) -> None:
    def break_down(session: Session, _progress: Progress) -> None:
        session.namespace()
        raise error

    broken, next_one, beside = (
        a_probe("broken", break_down, "a"),
        a_probe("next", lambda session, _: session.namespace(), "a"),
        a_probe("beside", lambda *_: "done", "b"),
    )
    run = probing(server)
    run.run([broken, next_one, beside])
    assert run.evidences[next_one] == f"kfv-smoke-{run.session.run}-a", "it may still create what it needs"
    assert run.evidences[beside] == "done"
    why = run.evidences[broken]
    assert isinstance(why, Unread)
    assert why.reason == reason
    assert server.namespaces == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_removes_the_namespaces_of_all_rooms_and_keeps_what_had_ended(
    server: Server, number: signal.Signals
) -> None:
    """Two probes are in the midst of it, a third has ended: only the third has evidence."""
    pause = threading.Event()
    lines: list[str] = []

    def end_early(session: Session, _progress: Progress) -> str:
        session.namespace()
        return "done"

    def wait(session: Session, progress: Progress) -> str:
        session.namespace()
        turn = both.wait(SECONDS)
        until(lambda: third in run.evidences)
        if turn == 0:
            os.kill(os.getpid(), number)
        while not session.stopped:
            pause.wait(0.01)
        progress("too late")
        return "cut short"

    both = threading.Barrier(2)
    third = a_probe("third", end_early)
    run = probing(server, lines.append)
    with interruptible(), pytest.raises(Interrupted):
        run.run([a_probe("one", wait), a_probe("two", wait), third])
    assert run.evidences == {third: "done"}
    assert run.session.account
    assert len([item for item in run.session.account.removed if item.ref.kind == "Namespace"]) == 3
    assert (run.session.account.left, server.namespaces) == ((), {})
    assert not [line for line in lines if "too late" in line]


def test_each_line_names_its_probe_and_the_first_one_all_rooms(server: Server) -> None:
    lines: list[str] = []

    def say(_session: Session, progress: Progress) -> None:
        progress("H1 fit")

    probing(server, lines.append).run(
        [a_probe("dns", say, "network"), a_probe("gateway", say, "network"), a_probe("gang", say)]
    )
    assert lines[0].partition(": ")[2].split("; ") == ["dns, then gateway", "gang"]
    assert sorted(lines[1:4]) == ["dns: H1 fit", "gang: H1 fit", "gateway: H1 fit"]


@pytest.mark.parametrize(("kind", "because"), [("APIService", ("B2",)), ("Lease", ())])
def test_what_needs_a_namespace_is_not_judged_where_none_would_go(
    server: Server, monkeypatch: pytest.MonkeyPatch, kind: str, because: tuple[str, ...]
) -> None:
    held = Obstacle(Ref("v1", kind, "", "x"), "it does not answer", "start it.")
    monkeypatch.setattr("kubeflow_volcano.experiment.session.obstacles", lambda *_: (held,))
    making = Probe[Any]("making", lambda *_: None, "a", needs=ACTING)
    checks = [a_check("H2", probe=making), a_check("E3", probe=a_probe("looking", lambda *_: None)), a_check("A1")]
    found = probing(server).without_namespaces(checks)
    assert {id_: (why.reason, why.because) for id_, why in found.items()} == {"H2": ("NamespacesStay", because)}
    assert probing(server, namespace="mine").without_namespaces(checks) == {}


def a_check(id_: str, probe: Probe[Any] | None = None) -> Check:
    return Check(id_, id_, "Claim", "Remedy.", Severity.BLOCKER, lambda _: skipped("No", "no."), probe=probe)
