"""The project's own namespace: when it goes, and why it stays."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.removing.contents import Contents
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.state.lock import LEASE
from kubeflow_volcano.rollout.state.store import LABELS
from kubeflow_volcano.rollout.uninstall import project
from kubeflow_volcano.rollout.uninstall.project import Project
from tests.samples.stored import Stored

SPACE = Ref("v1", "Namespace", "", "kubeflow-volcano")
SECRET = Ref("v1", "Secret", "kubeflow-volcano", "first-user")
STORES = Ref("v1", "Secret", "kubeflow-volcano", "store-passwords")
RECORD = Ref("v1", "ConfigMap", "kubeflow-volcano", "rollout-objects")


class Api(Stored):
    """A cluster with these objects; deleting one removes it, unless its resourceVersion is another."""

    def delete(self, ref: Ref, *, uid: str, version: str = "") -> bool:
        live = self.objects[ref]["metadata"]
        assert live["uid"] == uid
        if version in {"", live["resourceVersion"]}:
            del self.objects[ref]
            return True
        return False


def live(ref: Ref, **more: Any) -> Object:
    meta = {"name": ref.name, "namespace": ref.namespace, "uid": ref.name, "resourceVersion": "1"}
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta | more.pop("meta", {}), **more}


MADE = live(SPACE, meta={"labels": dict(LABELS)})
FREE = live(LEASE, spec={"holderIdentity": "", "renewTime": "2026-01-01T00:00:00Z"})


@pytest.fixture(autouse=True)
def inside(monkeypatch: pytest.MonkeyPatch) -> list[Object]:
    """What else is in the namespace."""
    found: list[Object] = []
    monkeypatch.setattr(project, "contents_of", lambda *_: Contents({SPACE.name: tuple(found)}, {}))
    return found


def made(
    api: Api, *, whole: bool = True, needed: str = "", data: tuple[str, ...] = (), gone: tuple[Ref, ...] = ()
) -> Project:
    cluster: Any = api
    return Project(cluster, whole=whole, needed=needed, data=data, gone=gone)


def test_it_goes_last_and_whole() -> None:
    api = Api(MADE, FREE, live(RECORD))
    found = made(api)
    assert found.kept == ()
    assert set(found.going) == {SPACE, LEASE, RECORD}
    assert set(found.remove(silent)) == {SPACE, LEASE, RECORD}
    assert api.objects == {}


def test_each_secret_with_passwords_keeps_it_until_it_is_named() -> None:
    for secret in (SECRET, STORES):
        api = Api(MADE, FREE, live(secret))
        assert [item.ref for item in made(api).kept] == [secret, SPACE]
        assert made(api).going == ()
        assert secret in made(api, data=(str(secret),)).going
    both = Api(MADE, FREE, live(SECRET), live(STORES))
    assert made(both, data=(str(SECRET),)).going == (SECRET,)


def test_its_record_stays_while_it_is_needed_but_a_named_secret_goes() -> None:
    api = Api(MADE, FREE, live(SECRET), live(RECORD))
    needed = "2 objects of ours stay"
    found = made(api, needed=needed, data=(str(SECRET),))
    assert [item.why.partition(": ")[2] for item in found.kept] == [needed]
    assert found.remove(silent) == [SECRET]
    assert RECORD in api.objects


def test_what_others_made_in_it_keeps_it_and_what_goes_before_it_does_not(inside: list[Object]) -> None:
    cron_job = Ref("batch/v1", "CronJob", "kubeflow-volcano", "validation")
    inside += [live(RECORD), live(cron_job)]
    assert [item.why.partition(": ")[2] for item in made(Api(MADE, FREE)).kept] == ["CronJob validation"]
    assert SPACE in made(Api(MADE, FREE), gone=(cron_job,)).going


def test_for_single_components_it_is_left_alone() -> None:
    found = made(Api(MADE, FREE), whole=False)
    assert (found.kept, found.going) == ((), ())


def test_a_namespace_that_others_had_made_stays_without_what_is_in_it() -> None:
    api = Api(live(SPACE), FREE, live(RECORD))
    assert set(made(api).remove(silent)) == {LEASE, RECORD}
    assert SPACE in api.objects


def test_another_run_that_took_the_lock_meanwhile_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(MADE, FREE, live(RECORD))
    found = made(api)
    monkeypatch.setattr(project, "holder_of", lambda _: "another")
    assert found.remove(silent) == ()
    monkeypatch.setattr(project, "holder_of", lambda _: None)
    monkeypatch.setattr(api, "delete", lambda *_, **__: False)  # the Lease has changed since it was read
    assert found.remove(silent) == ()
    assert set(api.objects) == {SPACE, LEASE, RECORD}
