"""E4, E5 and E8 on literal facts, and how the sign-in is read."""

from __future__ import annotations

import base64
import time
from typing import Any, cast

import bcrypt
import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.network.account import one_owner, profile_visible, published_password
from kubeflow_volcano.validators.checks.network.sign_in import SIGN_IN, SignIn, sign_in
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from tests.samples.facts import deployment, facts, instant, judged, obj, pod, ref

USER = "user@example.com"
PUBLISHED = bcrypt.hashpw(b"12341234", bcrypt.gensalt(4)).decode()
OWN = bcrypt.hashpw(b"something else", bcrypt.gensalt(4)).decode()


def known(*objects: Object, users: SignIn | None = None, **expected: Any) -> Facts:
    wanted = Expectations(components=frozenset({"dex", "profiles", "user-namespace"}), **expected)
    return facts(*objects, expected=wanted, known={SIGN_IN: users or SignIn((USER,))})


def profile(name: str = "first", owner: str = USER, **meta: Any) -> Object:
    return obj("Profile", name, metadata=meta, spec={"owner": {"kind": "User", "name": owner}})


def namespace(name: str = "first", owner: str | None = USER, label: str = "kubeflow-profile") -> Object:
    annotations = {"owner": owner} if owner else {}
    return obj("Namespace", name, metadata={"annotations": annotations, "labels": {"app.kubernetes.io/part-of": label}})


def test_an_own_password_passes_and_the_published_one_fails() -> None:
    assert judged(published_password, known()).status is Status.PASS
    outcome = judged(published_password, known(users=SignIn((USER,), published=(USER,))))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PublishedPassword")
    assert "12341234" not in str(outcome)


def test_the_published_password_that_is_asked_for_by_name_is_a_warning() -> None:
    found = known(users=SignIn((USER,), published=(USER,)), published_password=True)
    assert judged(published_password, found).status is Status.WARN


def test_a_hash_that_is_nowhere_proves_nothing_and_no_static_user_is_a_skip() -> None:
    assert judged(published_password, known(users=SignIn((USER,), unknown=(USER,)))).reason == "HashNotFound"
    assert judged(published_password, known(users=SignIn())).reason == "NoStaticUser"
    assert judged(published_password, facts()).reason == "NotInstalled"


@pytest.mark.parametrize("check", [published_password, one_owner])
def test_a_dex_that_nobody_chose_is_judged_only_with_rights_beyond_those_of_the_run(check: Check) -> None:
    denied = Unread("Forbidden", "sign-in may not be read: no", "grant the right to read it.")
    for components, status, reason in (({"profiles"}, Status.SKIP, "NotRead"), ({"dex"}, Status.ERROR, "Forbidden")):
        wanted = Expectations(components=frozenset({*components, "user-namespace"}))
        outcome = judged(check, facts(expected=wanted, known={SIGN_IN: denied}))
        assert (outcome.status, outcome.reason) == (status, reason)
        assert ("secrets dex-passwords in auth" in outcome.message) is (status is Status.SKIP)
    broken = facts(known={SIGN_IN: Unread("Unreachable", "no answer.", "look.")})
    assert judged(check, broken).reason == "Unreachable"


def test_a_profile_whose_namespace_is_its_owners_passes() -> None:
    assert judged(profile_visible, known(profile(), namespace())).status is Status.PASS


@pytest.mark.parametrize(
    ("objects", "status", "reason"),
    [
        ([namespace(owner="other@example.com")], Status.FAIL, "OtherOwner"),
        ([namespace(owner=None)], Status.FAIL, "OtherOwner"),
        ([namespace(label="else")], Status.WARN, "NoLabel"),
        ([], Status.FAIL, "NoNamespace"),
    ],
)
def test_a_namespace_that_the_dashboard_would_not_show_is_found(
    objects: list[Object], status: Status, reason: str
) -> None:
    outcome = judged(profile_visible, known(profile(), *objects))
    assert (outcome.status, outcome.reason) == (status, reason)
    handed_over = f"kubectl annotate namespace first owner={USER} --overwrite"
    assert (handed_over in outcome.changes) is (reason == "OtherOwner")


def test_a_profile_without_spec_is_of_nobody() -> None:
    """The CRD requires none."""
    bare = {key: value for key, value in profile().items() if key != "spec"}
    assert judged(profile_visible, known(bare, namespace())).reason == "OtherOwner"
    assert judged(one_owner, known(bare)).reason == "TwoOwners"


def test_a_young_profile_may_wait_for_its_namespace() -> None:
    young = profile(creationTimestamp=instant(5))
    assert judged(profile_visible, known(young)).status is Status.WARN


def test_no_namespace_is_asked_of_a_profile_controller_that_is_simulated() -> None:
    simulated = pod("kubeflow/p", owner="profiles-deployment")
    simulated["metadata"]["labels"]["rehearsal.kubeflow-volcano.io/simulated"] = "true"
    objects = (profile(), deployment("kubeflow/profiles-deployment"), simulated)
    assert judged(profile_visible, known(*objects)).reason == "Simulated"
    assert judged(profile_visible, known(*objects, namespace(owner="x"))).reason == "OtherOwner"


def test_dexs_user_owns_the_profile() -> None:
    found = known(profile(), user_email=USER, user_namespace="first")
    assert judged(one_owner, found).status is Status.PASS
    assert judged(one_owner, known(profile("any"))).status is Status.PASS


@pytest.mark.parametrize(
    ("profiles", "expected", "reason"),
    [
        ([profile(owner="User@example.com")], {}, "TwoOwners"),
        ([profile()], {"user_email": "other@example.com"}, "TwoOwners"),
        ([profile("second")], {"user_namespace": "first"}, "NoProfile"),
        ([], {}, "NoProfile"),
    ],
)
def test_two_owners_are_told_with_both_names(profiles: list[Object], expected: dict[str, Any], reason: str) -> None:
    outcome = judged(one_owner, known(*profiles, **expected))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert USER in outcome.message


SSO = "anna@corp.example"


@pytest.mark.parametrize(
    ("profiles", "expected", "status", "reason"),
    [
        ([profile(owner=SSO)], {}, Status.SKIP, "OtherConnectors"),
        ([profile("a", SSO), profile("b", "bert@corp.example")], {}, Status.SKIP, "OtherConnectors"),
        ([], {}, Status.SKIP, "OtherConnectors"),
        ([profile(owner=SSO)], {"user_email": SSO, "user_namespace": "first"}, Status.SKIP, "OtherConnectors"),
        ([profile("a", SSO), profile("b", USER)], {}, Status.PASS, "AsClaimed"),
        ([profile(owner="User@example.com")], {}, Status.FAIL, "TwoOwners"),
        ([profile(owner=SSO)], {"user_email": USER}, Status.FAIL, "TwoOwners"),
        ([profile("second", SSO)], {"user_namespace": "first"}, Status.FAIL, "NoProfile"),
    ],
)
def test_owners_who_come_through_a_connector_are_no_failure(
    profiles: list[Object], expected: dict[str, Any], status: Status, reason: str
) -> None:
    outcome = judged(one_owner, known(*profiles, users=SignIn((USER,), connectors=("Corp",)), **expected))
    assert (outcome.status, outcome.reason) == (status, reason)


def test_connectors_are_read_by_their_names() -> None:
    found = read(Secrets("connectors: [{type: ldap, id: a, name: Corp}, {type: oidc}, 5]"))
    assert found == SignIn(connectors=("Corp", "oidc"))


class Secrets:
    """The part of a cluster that the sign-in is read from; remembers what was asked for."""

    def __init__(self, config: str, **secrets: dict[str, str]) -> None:
        self.asked: list[Ref] = []
        self._found: dict[str, Object] = {"ConfigMap dex": {"data": {"config.yaml": config}}}
        for name, texts in secrets.items():
            data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            self._found[f"Secret {name}"] = {"data": data}

    def get(self, wanted: Ref) -> Object | None:
        self.asked.append(wanted)
        return self._found.get(f"{wanted.kind} {wanted.name}")


def read(cluster: Secrets, **container: Any) -> SignIn | None:
    dex = deployment("auth/dex", containers=[{"name": "dex", "image": "dex", **container}])
    return sign_in(cast("Cluster", cluster), facts(dex))


def test_hashes_in_the_configuration_and_in_the_environment_are_read() -> None:
    config = f"""
staticPasswords:
- {{email: a@x, hash: "{PUBLISHED}"}}
- {{email: b@x, hash: "{OWN}"}}
- {{email: c@x, hashFromEnv: C}}
- {{email: d@x, hashFromEnv: D}}
"""
    cluster = Secrets(config, passwords={"C": PUBLISHED, "OTHER": "x"})

    found = read(cluster, envFrom=[{"secretRef": {"name": "passwords"}}, {"configMapRef": {"name": "more"}}])

    assert found == SignIn(("a@x", "b@x", "c@x", "d@x"), published=("a@x", "c@x"), unknown=("d@x",))
    assert cluster.asked == [ref("ConfigMap", "auth/dex"), Ref("v1", "Secret", "auth", "passwords")]


def test_a_single_variable_wins_over_a_whole_secret() -> None:
    cluster = Secrets("staticPasswords: [{email: a@x, hashFromEnv: A}]", all={"A": PUBLISHED}, one={"key": OWN})
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "one", "key": "key"}}}, {"name": "B", "value": "x"}]
    found = read(cluster, envFrom=[{"secretRef": {"name": "all"}}], env=env)
    assert found == SignIn(("a@x",))


def test_no_dex_no_user_and_no_yaml_are_told_apart() -> None:
    assert sign_in(cast("Cluster", Secrets("")), facts()) is None
    assert read(Secrets("connectors: []")) == SignIn()
    with pytest.raises(CannotJudgeError):
        read(Secrets("a: [b"))


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 25_000])
def test_a_configuration_that_is_too_deep_is_an_error_with_a_reason_at_once(text: str) -> None:
    started = time.process_time()
    with pytest.raises(CannotJudgeError) as caught:
        read(Secrets(text))
    assert (caught.value.outcome.status, caught.value.outcome.reason) == (Status.ERROR, "NotYaml")
    assert time.process_time() - started < 2


@pytest.mark.parametrize("odd", ["5", "[]", "x", "{a: 1}", "[5]", "[[a]]", "[{email: [a]}]", "[{email: 5}]"])
def test_users_of_odd_types_are_none(odd: str) -> None:
    assert read(Secrets(f"staticPasswords: {odd}\nconnectors: {odd.replace('email', 'type')}")) == SignIn()


@pytest.mark.parametrize("odd", ["hash: 5", "hash: [a]", "hashFromEnv: [a]", "hashFromEnv: {a: 1}", "hash: null"])
def test_a_hash_of_an_odd_type_is_unknown(odd: str) -> None:
    assert read(Secrets(f"staticPasswords: [{{email: a@x, {odd}}}]")) == SignIn(("a@x",), unknown=("a@x",))
