"""Logins of profiles: which namespaces get them, and the accounts that name them."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.people.logins import SECRET, let_accounts_sign_in
from tests.unit.releases import Upstream

PUSHER = {"registry": "push.example.org", "username": "robot", "password": "pa$$"}
PULLER = {"registry": "pull.example.org", "username": "puller", "password": "word", "profiles": True}
TEAM = {"name": "vision", "owner": "ada@example.org"}


def test_namespaces_of_profiles_have_only_the_logins_that_say_so(upstream: Upstream) -> None:
    settings = upstream.settings(kubeflow_profiles=[TEAM], image_mirror_credentials=[PUSHER, PULLER])
    objects = [obj for part in upstream.patched(settings).values() for obj in part if obj["kind"] == "Secret"]
    made = {obj["metadata"]["namespace"]: obj for obj in objects if obj["metadata"]["name"] == SECRET}
    assert made.keys() == {"vision", settings.user.namespace}
    for obj in made.values():
        assert [*json.loads(base64.b64decode(obj["data"][".dockerconfigjson"]))["auths"]] == ["pull.example.org"]
    without = upstream.patched(upstream.settings(image_mirror_credentials=[PUSHER]))
    assert without == upstream.patched(upstream.settings())


class Run:
    """What the step needs of a run: accounts by name, and what it said of them."""

    def __init__(self, accounts: dict[str, Object], *, check: bool) -> None:
        self.accounts, self.check = accounts, check
        self.cluster, self.lines, self.outcomes = self, [], []  # type: ignore[var-annotated]
        self.progress, self.add_outcome = self.lines.append, self.outcomes.append

    def get(self, ref: Ref) -> Object | None:
        return copy.deepcopy(self.accounts.get(ref.name))

    def patch(self, ref: Ref, body: Any) -> Object:
        assert body["metadata"] == {"resourceVersion": "7"}
        self.accounts[ref.name] |= {"imagePullSecrets": body["imagePullSecrets"]}
        return self.accounts[ref.name]


def account(name: str, *secrets: str) -> Object:
    meta = {"name": name, "namespace": "vision", "resourceVersion": "7"}
    return {"metadata": meta, **({"imagePullSecrets": [{"name": item} for item in secrets]} if secrets else {})}


@pytest.mark.parametrize("check", [False, True])
def test_accounts_keep_what_they_name_and_change_once(check: bool) -> None:  # noqa: FBT001
    secret = {"kind": "Secret", "metadata": {"name": SECRET, "namespace": "vision"}}
    other = {"kind": "Secret", "metadata": {"name": "other", "namespace": "kubeflow"}}
    accounts = {"default": account("default", "theirs"), "default-editor": account("default-editor", SECRET)}
    run: Any = Run(accounts, check=check)
    let_accounts_sign_in(run, [other, secret])
    (done,) = run.outcomes
    assert isinstance(done, ObjectOutcome)
    assert (done.ref.name, done.action) == ("default", Action.CHANGED)
    assert done.after is not None
    assert [item["name"] for item in done.after["imagePullSecrets"]] == ["theirs", SECRET]
    let_accounts_sign_in(run, [secret])
    assert len(run.outcomes) == (2 if check else 1)


@pytest.mark.parametrize(("conflicts", "refused"), [(2, False), (99, True)])
def test_what_others_write_meanwhile_is_read_again(conflicts: int, refused: bool) -> None:  # noqa: FBT001
    run: Any = Busy({"default": account("default"), "default-editor": account("default-editor", SECRET)}, check=False)
    run.conflicts, run.problems, run.origin = conflicts, [], "https://cluster.example.org"
    run.add_problem = run.problems.append
    let_accounts_sign_in(run, [{"kind": "Secret", "metadata": {"name": SECRET, "namespace": "vision"}}])
    assert bool(run.problems) is refused
    named = [item["name"] for item in run.accounts["default"]["imagePullSecrets"]]
    assert named == ["theirs", *([] if refused else [SECRET])]


class Busy(Run):
    """Another controller is faster, some times."""

    conflicts = 0

    def patch(self, ref: Ref, body: Any) -> Object:
        if self.conflicts:
            self.conflicts -= 1
            self.accounts[ref.name]["imagePullSecrets"] = [{"name": "theirs"}]
            raise ApiError(409, "Conflict", "the object has been modified")
        return super().patch(ref, body)


def test_an_account_that_the_controller_has_not_made_is_told() -> None:
    run: Any = Run({"default": account("default", SECRET)}, check=False)
    let_accounts_sign_in(run, [{"kind": "Secret", "metadata": {"name": SECRET, "namespace": "vision"}}])
    assert not run.outcomes
    assert len(run.lines) == 1
    assert "vision/default-editor" in run.lines[0]
