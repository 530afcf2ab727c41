"""Objects that are stored again, on an API server that goes by a changed CRD some time later than discovery does.

A local HTTP server stands in for it, as the moment cannot be provoked reliably: of a real one, 20 rounds with 40 CRDs
that change at once lost nothing. It tears down its old storage as late as a test wants, and answers out of it until
then: discovery, which is another controller, has the changed CRD at once.
"""

from __future__ import annotations

import copy
import re
import threading
import time
from typing import Any

import pytest

from kubeflow_volcano.apply.crds import steps
from kubeflow_volcano.apply.crds.sending import CrdSender
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.stored_versions import lost_version, storage_version, way_back
from kubeflow_volcano.deadline import Deadline
from tests.unit.conftest import Answer, FakeApi, Request, status

GROUP, KIND = "g.example.org", "Ship"
CRD = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", f"ships.{GROUP}")
FIELDS: Any = {"f:spec": {"f:versions": {}}}
LOST = "request to convert CR from an invalid group/version: g.example.org/v1alpha1"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_OTHER_SERVERS_SECONDS", "_PASS_SECONDS", "_POLL_SECONDS"):
        monkeypatch.setattr(steps, name, 0.01)
    monkeypatch.setattr(steps, "_UNMOVED_SECONDS", 0.1)


def crd(*versions: str, storage: str) -> Object:
    items = [{"name": name, "served": True, "storage": name == storage} for name in versions]
    spec = {"group": GROUP, "names": {"kind": KIND, "plural": "ships"}, "versions": items}
    return new_object(CRD.api_version, CRD.kind, CRD.name, meta={"uid": "crd"}, spec=spec)


class Server:
    """An API server with one CRD and its objects. `lag`: how many seconds a changed CRD is not in effect yet."""

    def __init__(self, api: FakeApi, live: Object, count: int, lag: float = 0.0) -> None:
        fields = {"manager": "kubeflow-volcano", "operation": "Apply", "apiVersion": "v1", "fieldsV1": FIELDS}
        self.crd = copy.deepcopy(live)
        self.crd["metadata"] |= {"managedFields": [fields], "resourceVersion": "1"}
        self.crd["status"] = {"storedVersions": [storage_version(live)]}
        self.lag = lag
        self.versions = 1
        self._effects = [(0.0, self.crd)]
        self._lock = threading.RLock()
        self.stored = {f"uid-{number}": (storage_version(live), self.next()) for number in range(count)}
        self.sent: list[Object] = []
        self.hidden: set[str] = set()
        self._other_answer, api.answer = api.answer, self.answer  # type: ignore[method-assign]
        self.cluster: Cluster = api.connect()

    @property
    def effective(self) -> Object:
        """The CRD by which objects are read and written."""
        now = time.monotonic()
        return [found for since, found in self._effects if since <= now][-1]

    def found(self) -> Found:
        return Found(Presence.DIFFERS, copy.deepcopy(self.crd), uid="crd")

    def next(self) -> str:
        self.versions += 1
        return str(self.versions)

    def send(self, obj: Object, found: Found) -> ObjectOutcome:
        """Server-side apply of the CRD: refused while it lacks a stored version."""
        names = {item["name"] for item in obj["spec"]["versions"]}
        if missing := set(self.crd["status"]["storedVersions"]) - names:
            return ObjectOutcome(CRD, Action.FAILED, None, None, f"422 Invalid: {missing}")
        self.sent.append(obj)
        status = [*dict.fromkeys((*self.crd["status"]["storedVersions"], storage_version(obj)))]
        self.crd = {**self.crd, "spec": copy.deepcopy(obj["spec"]), "status": {"storedVersions": status}}
        self._effects.append((time.monotonic() + self.lag, self.crd))
        return ObjectOutcome(CRD, Action.CHANGED, found.live, obj)

    # what the steps ask

    def answer(self, request: Request) -> Answer:
        """The answer of this server, or of the one that it is part of."""
        if request.path.endswith((f"/{CRD.name}", f"/{CRD.name}/status")):
            if request.method == "PUT":
                self.crd = {**self.crd, "status": request.body["status"]}
            return Answer(body=copy.deepcopy(self.crd))
        parts = request.path.removeprefix(f"/apis/{GROUP}/").split("/")
        if len(parts) == len(request.path.split("/")):
            return self._other_answer(request)
        with self._lock:
            return self._of_objects(request, *parts)

    def _of_objects(self, request: Request, version: str, *rest: str) -> Answer:
        if not rest:  # discovery goes by the CRD as it is stored
            served = version in {item["name"] for item in self.crd["spec"]["versions"] if item["served"]}
            resource = {"kind": KIND, "name": "ships", "namespaced": True}
            return Answer(body={"resources": [resource]}) if served else status(404, "NotFound", version)
        versions = {item["name"]: item for item in self.effective["spec"]["versions"]}
        if version not in versions:
            return status(404, "NotFound", version)
        if rest[0] == "namespaces":
            return self._of_object(request, version, rest[-1])
        if any(found not in versions for found, _ in self.stored.values()):
            return status(500, "InternalError", LOST)
        if "as=Table" in request.headers["accept"]:
            more = versions[version].get("additionalPrinterColumns", ())
            return Answer(body={"columnDefinitions": [{"name": "Name"}, *more], "rows": []})
        items = [self.item(uid, f"{GROUP}/{version}") for uid in self.stored if uid not in self.hidden]
        return Answer(body={"metadata": {"resourceVersion": "1"}, "items": items})

    def _of_object(self, request: Request, version: str, name: str) -> Answer:
        if name not in self.stored:
            return status(404, "NotFound", name)
        if request.method == "PATCH":
            self.patch(name)
        return Answer(body=self.item(name, f"{GROUP}/{version}"))

    def item(self, uid: str, api_version: str) -> Object:
        return new_object(api_version, KIND, uid, "default", meta={"uid": uid, "resourceVersion": self.stored[uid][1]})

    def patch(self, uid: str) -> None:
        """An object is written only if its stored form differs."""
        storage = storage_version(self.effective)
        if self.stored[uid][0] != storage:
            self.stored[uid] = (storage, self.next())


OLD, BOTH, NEW = (
    crd("v1alpha1", "v1beta1", storage="v1alpha1"),
    crd("v1alpha1", "v1beta1", storage="v1beta1"),
    crd("v1beta1", storage="v1beta1"),
)


def migrate(server: Server, *, check: bool = False, said: list[str] | None = None) -> ObjectOutcome:
    sender = CrdSender(
        server.cluster,
        {CRD: server.found()},
        {CRD: NEW},
        server.send,
        deadline=Deadline(30),
        progress=(list[str]() if said is None else said).append,
        check=check,
    )
    return sender.send(NEW, server.found())


@pytest.mark.parametrize("lag", [0.0, 0.05, 0.3])
def test_no_version_goes_while_the_server_still_stores_in_it(api: FakeApi, lag: float) -> None:
    """Discovery has the new version at once; the objects are stored in the old one for as long as the server lags."""
    server, said = Server(api, OLD, 3, lag), list[str]()
    assert migrate(server, said=said).action is Action.CHANGED
    assert {version for version, _ in server.stored.values()} == {"v1beta1"}
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]
    assert server.crd["spec"] == NEW["spec"]
    assert any(re.search("3 objects .*v1beta1", line) for line in said)


def test_objects_that_stay_as_they_were_stored_end_the_run(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the answers say: what was stored in the old version before must have been written since."""
    server = Server(api, OLD, 3)
    monkeypatch.setattr(Server, "patch", lambda _self, _uid: None)
    outcome = migrate(server)
    assert outcome.action is Action.FAILED
    assert "3 of 3 " in outcome.reason
    assert "v1alpha1" in server.crd["status"]["storedVersions"]
    assert {"v1alpha1", "v1beta1"} == {item["name"] for item in server.crd["spec"]["versions"]}


def test_fewer_objects_than_before_end_the_run(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that exists and is not listed any more; one that others deleted is no reason."""
    server, send = Server(api, OLD, 3), Server.send

    def hiding(self: Server, obj: Object, found: Found) -> ObjectOutcome:
        self.hidden, _ = {"uid-1"}, self.stored.pop("uid-2", None)
        return send(self, obj, found)

    monkeypatch.setattr(Server, "send", hiding)
    said = list[str]()
    outcome = migrate(server, said=said)
    assert outcome.action is Action.FAILED
    assert re.search("1 of 3 .*default/uid-1", outcome.reason)
    assert "v1alpha1" in server.crd["status"]["storedVersions"]

    monkeypatch.setattr(Server, "send", send)
    server.hidden.clear()
    assert migrate(server, said=said).action is Action.CHANGED
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]


def test_objects_that_others_delete_meanwhile_are_told(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    server, send = Server(api, OLD, 3), Server.send

    def deleting(self: Server, obj: Object, found: Found) -> ObjectOutcome:
        self.stored.pop("uid-2", None)
        return send(self, obj, found)

    monkeypatch.setattr(Server, "send", deleting)
    said = list[str]()
    assert migrate(server, said=said).action is Action.CHANGED
    assert any("1 object deleted" in line for line in said)


def test_a_version_in_which_an_object_was_stored_after_all_comes_back(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another API server that had not seen the CRD yet: the drop is taken back, and the steps begin again."""
    server, forget, late = Server(api, OLD, 2), steps.CrdSteps._forget, [True]  # noqa: SLF001

    def forgetting(self: steps.CrdSteps) -> None:
        forget(self)
        if late:
            late.clear()
            server.stored["uid-9"] = ("v1alpha1", server.next())

    monkeypatch.setattr(steps.CrdSteps, "_forget", forgetting)
    said = list[str]()
    assert migrate(server, said=said).action is Action.CHANGED
    assert {version for version, _ in server.stored.values()} == {"v1beta1"}
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]
    assert server.crd["spec"] == NEW["spec"]
    assert any("v1alpha1" in line and "they are back" in line for line in said)


def test_objects_that_cannot_be_listed_are_found_before_anything_is_sent(api: FakeApi) -> None:
    server = Server(api, BOTH, 1)
    server.stored["uid-9"] = ("v1", "7")
    server.crd["status"]["storedVersions"] = ["v1alpha1", "v1beta1"]
    for check in (True, False):
        outcome = migrate(server, check=check)
        assert outcome.action is Action.FAILED
        assert LOST in outcome.reason
    assert server.sent == []


def test_an_interrupted_migration_does_not_need_objects_to_change_again(api: FakeApi) -> None:
    """Both versions were in use: what was stored again by the run before stays as it is."""
    server = Server(api, BOTH, 2)
    server.crd["status"]["storedVersions"] = ["v1alpha1", "v1beta1"]
    server.stored["uid-1"] = ("v1alpha1", "5")
    assert migrate(server).action is Action.CHANGED
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]
    assert {version for version, _ in server.stored.values()} == {"v1beta1"}


def test_objects_that_change_all_the_time_do_not_keep_a_run_from_its_end(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(api, OLD, 2)

    def busy(self: Server, uid: str) -> None:
        self.stored[uid] = (storage_version(self.effective), self.next())

    monkeypatch.setattr(Server, "patch", busy)
    assert migrate(server).action is Action.CHANGED


def test_the_answer_of_the_server_names_the_version_that_is_missing() -> None:
    assert lost_version(LOST) == "v1alpha1"
    assert lost_version("unable to respond") == ""
    assert all("v1alpha1" in command and "ships.g" in command for command in way_back("ships.g", "v1alpha1"))
