"""Objects that are stored again, on an API server that goes by a changed CRD some time later than discovery does."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.apply.crds import steps
from kubeflow_volcano.apply.crds.sending import CrdSender
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.stored_versions import lost_version, storage_version, way_back
from kubeflow_volcano.deadline import Deadline

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
    meta = {"name": CRD.name, "uid": "crd"}
    return {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": meta, "spec": spec}


class Server:
    """An API server with one CRD and its objects. `lag`: how many seconds a changed CRD is not in effect yet."""

    def __init__(self, live: Object, count: int, lag: float = 0.0) -> None:
        fields = {"manager": "kubeflow-volcano", "operation": "Apply", "apiVersion": "v1", "fieldsV1": FIELDS}
        self.crd = copy.deepcopy(live)
        self.crd["metadata"] |= {"managedFields": [fields], "resourceVersion": "1"}
        self.crd["status"] = {"storedVersions": [storage_version(live)]}
        self.lag = lag
        self.versions = 1
        self._effects = [(0.0, self.crd)]
        self.stored = {f"uid-{number}": (storage_version(live), self._next()) for number in range(count)}
        self.sent: list[Object] = []
        self.hidden: set[str] = set()

    @property
    def cluster(self) -> Any:
        return self

    @property
    def effective(self) -> Object:
        now = time.monotonic()
        return [found for since, found in self._effects if since <= now][-1]

    def found(self) -> Found:
        return Found(Presence.DIFFERS, copy.deepcopy(self.crd), uid="crd")

    def _next(self) -> str:
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

    def resource(self, api_version: str, kind: str, **_options: Any) -> Resource:
        if api_version == CRD.api_version:
            return Resource(api_version, kind, "customresourcedefinitions", namespaced=False)
        if api_version.partition("/")[2] not in {v["name"] for v in self.crd["spec"]["versions"] if v["served"]}:
            raise NotServed(api_version, kind)
        return Resource(api_version, kind, "ships", namespaced=True)

    def request(self, _method: str, path: str, **_options: Any) -> Any:
        if path.endswith(CRD.name):
            return copy.deepcopy(self.crd)
        version = next(v for v in self.effective["spec"]["versions"] if f"/{v['name']}/" in path)
        self._decode()
        return {"columnDefinitions": [{"name": "Name"}, *version.get("additionalPrinterColumns", ())]}

    def replace(self, obj: Object, **_options: Any) -> Object:
        self.crd = {**self.crd, "status": obj["status"]}
        return obj

    def _decode(self) -> None:
        known = {item["name"] for item in self.effective["spec"]["versions"]}
        if any(version not in known for version, _ in self.stored.values()):
            raise ApiError(500, "InternalError", LOST)

    def pages(self, api_version: str, _kind: str, **_options: Any) -> Iterator[Listing]:
        self._decode()
        yield Listing(tuple(self._item(uid, api_version) for uid in self.stored if uid not in self.hidden), "1")

    def _item(self, uid: str, api_version: str) -> Object:
        meta = {"name": uid, "namespace": "default", "uid": uid, "resourceVersion": self.stored[uid][1]}
        return {"apiVersion": api_version, "kind": KIND, "metadata": meta}

    def patch(self, ref: Ref, _body: Any, **_options: Any) -> Object:
        """It is written only if its stored form differs."""
        if ref.name not in self.stored:
            raise ApiError(404, "NotFound", ref.name)
        storage = storage_version(self.effective)
        if self.stored[ref.name][0] != storage:
            self.stored[ref.name] = (storage, self._next())
        return self._item(ref.name, "meta.k8s.io/v1")

    def get(self, ref: Ref, **_options: Any) -> Object | None:
        if ref == CRD:
            return copy.deepcopy(self.crd)
        return self._item(ref.name, ref.api_version) if ref.name in self.stored else None


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


@pytest.mark.parametrize("lag", [0.0, 0.5, 3.0])
def test_no_version_goes_while_the_server_still_stores_in_it(lag: float) -> None:
    """Discovery has the new version at once; the objects are stored in the old one for as long as the server lags."""
    server, said = Server(OLD, 3, lag), list[str]()
    assert migrate(server, said=said).action is Action.CHANGED
    assert {version for version, _ in server.stored.values()} == {"v1beta1"}
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]
    assert server.crd["spec"] == NEW["spec"]
    assert any("stored versions migrated: 3 objects to v1beta1" in line for line in said)


def test_objects_that_stay_as_they_were_stored_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the answers say: what was stored in the old version before must have been written since."""
    server = Server(OLD, 3)
    monkeypatch.setattr(Server, "patch", lambda self, ref, _body, **_options: self._item(ref.name, "v1"))
    outcome = migrate(server)
    assert outcome.action is Action.FAILED
    assert "3 of 3 objects" in outcome.reason
    assert "v1alpha1" in server.crd["status"]["storedVersions"]
    assert {"v1alpha1", "v1beta1"} == {item["name"] for item in server.crd["spec"]["versions"]}


def test_fewer_objects_than_before_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that exists and is not listed any more; one that others deleted is no reason."""
    server, send = Server(OLD, 3), Server.send

    def hiding(self: Server, obj: Object, found: Found) -> ObjectOutcome:
        self.hidden, _ = {"uid-1"}, self.stored.pop("uid-2", None)
        return send(self, obj, found)

    monkeypatch.setattr(Server, "send", hiding)
    said = list[str]()
    outcome = migrate(server, said=said)
    assert outcome.action is Action.FAILED
    assert "1 of 3 objects (default/uid-1)" in outcome.reason
    assert "v1alpha1" in server.crd["status"]["storedVersions"]

    monkeypatch.setattr(Server, "send", send)
    server.hidden.clear()
    assert migrate(server, said=said).action is Action.CHANGED
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]


def test_objects_that_others_delete_meanwhile_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    server, send = Server(OLD, 3), Server.send

    def deleting(self: Server, obj: Object, found: Found) -> ObjectOutcome:
        self.stored.pop("uid-2", None)
        return send(self, obj, found)

    monkeypatch.setattr(Server, "send", deleting)
    said = list[str]()
    assert migrate(server, said=said).action is Action.CHANGED
    assert any("1 object deleted by others" in line for line in said)


def test_a_version_in_which_an_object_was_stored_after_all_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by another API server that had not seen the CRD yet: the drop is taken back, and the steps begin again."""
    server, forget, late = Server(OLD, 2), steps.CrdSteps._forget, [True]  # noqa: SLF001

    def forgetting(self: steps.CrdSteps) -> None:
        forget(self)
        if late:
            late.clear()
            server.stored["uid-9"] = ("v1alpha1", server._next())  # noqa: SLF001

    monkeypatch.setattr(steps.CrdSteps, "_forget", forgetting)
    said = list[str]()
    assert migrate(server, said=said).action is Action.CHANGED
    assert {version for version, _ in server.stored.values()} == {"v1beta1"}
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]
    assert server.crd["spec"] == NEW["spec"]
    assert any("v1alpha1" in line and "they are back" in line for line in said)


def test_objects_that_cannot_be_listed_are_found_before_anything_is_sent() -> None:
    server = Server(BOTH, 1)
    server.stored["uid-9"] = ("v1", "7")
    server.crd["status"]["storedVersions"] = ["v1alpha1", "v1beta1"]
    for check in (True, False):
        outcome = migrate(server, check=check)
        assert outcome.action is Action.FAILED
        assert LOST in outcome.reason
    assert server.sent == []


def test_an_interrupted_migration_does_not_need_objects_to_change_again() -> None:
    """Both versions were in use: what was stored again by the run before stays as it is."""
    server = Server(BOTH, 2)
    server.crd["status"]["storedVersions"] = ["v1alpha1", "v1beta1"]
    server.stored["uid-1"] = ("v1alpha1", "5")
    assert migrate(server).action is Action.CHANGED
    assert server.crd["status"]["storedVersions"] == ["v1beta1"]
    assert {version for version, _ in server.stored.values()} == {"v1beta1"}


def test_objects_that_change_all_the_time_do_not_keep_a_run_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(OLD, 2)

    def busy(self: Server, ref: Ref, _body: Any, **_options: Any) -> Object:
        self.stored[ref.name] = (storage_version(self.effective), self._next())
        return self._item(ref.name, "v1")

    monkeypatch.setattr(Server, "patch", busy)
    assert migrate(server).action is Action.CHANGED


def test_the_answer_of_the_server_names_the_version_that_is_missing() -> None:
    assert lost_version(LOST) == "v1alpha1"
    assert lost_version("the server was unable to return a response") == ""
    assert all("v1alpha1" in command and "ships.g" in command for command in way_back("ships.g", "v1alpha1"))
