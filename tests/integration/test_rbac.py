"""A ServiceAccount with what `python -m validators rbac` prints can validate, and nothing of that is superfluous."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.cli import rbac
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import (
    CLUSTER_SCOPED,
    allowed,
    missing_for_probes,
    missing_for_reading,
    placed,
)
from kubeflow_volcano.validators.run.options import expectations_of
from kubeflow_volcano.validators.run.runner import Options, validate
from kubeflow_volcano.validators.run.selection import select
from tests.integration.breaking import made, remove
from tests.waiting import until

pytestmark = pytest.mark.cluster

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
UNUSED: Mapping[str, str] = {
    "patch persistentvolumes": "only volumes of a class that retains them are told to go",
    "patch pytorchjobs.kubeflow.org": "only a job whose operator has missed its group is touched",
    "patch resourcequotas": "only while the quota controller does not know PodGroups yet",
    "patch tfjobs.kubeflow.org": "only a job whose operator has missed its group is touched",
    "delete pods": "only a pod that outlives its job is removed by the probe itself",
    "delete podgroups.scheduling.volcano.sh": "only a group that outlives its job is removed by the probe itself",
    "get leases.coordination.k8s.io": "only programs that elect a leader have one, and a single replica elects none",
    "get replicasets.apps": "only an event about a ReplicaSet asks for its Deployment",
    "list networkpolicies.networking.k8s.io": "only those around a backend that does not answer are looked at",
    "list deviceclasses.resource.k8s.io": "only where a driver has published devices",
    "list resourceclaims.resource.k8s.io": "only where a driver has published devices",
    "get pods/log": "only the log of an operator that started early, or of a container that started again, is read",
}
"""What a healthy cluster does not make a run do, and when it does. That these are asked for all the same is tested."""
UNASKED = frozenset(
    {
        *("get leases.coordination.k8s.io", "get replicasets.apps", "list networkpolicies.networking.k8s.io"),
        *("list deviceclasses.resource.k8s.io", "list resourceclaims.resource.k8s.io"),
    }
)
"""Not asked for beforehand, because their namespaces need not be there: the refusal itself says what is missing.

Of devices nothing is judged: without these, reports do not count them.
"""

ATTEMPTS = (
    "/apiservices",
    "webhookconfigurations",
    "labelSelector=kfv.io",
    "rehearsal-simulated-webhooks",
    "kubeflow-system/deployments",
    "labelSelector=app%3Dvolcano-scheduler",
)
"""What is asked for without a right: what may keep namespaces from going, which runs with B2 and B3 may see;
leftovers of kinds that no chosen check makes; what a rehearsal answers; whether it is the operator of another release
that runs; where Volcano is."""

Granted = set[tuple[str, Rule]]
"""Rules with the namespace of their Role; '' for the ClusterRole."""


@dataclass
class Account:
    """A ServiceAccount: its namespace, which is also a place for probes, and a kubeconfig with its token."""

    namespace: str
    kubeconfig: Path
    token: str

    @property
    def name(self) -> str:
        return f"{self.namespace}/validator"


@pytest.fixture
def account(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> Iterator[Account]:
    name = f"test-{secrets.token_hex(4)}"
    made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        cluster.create(new_object("v1", "ServiceAccount", "validator", name))
        path = f"/api/v1/namespaces/{name}/serviceaccounts/validator/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        token = cluster.request("POST", path, body=body)["status"]["token"]
        config = yaml.safe_load(kubeconfig.read_text())
        for item in config["users"]:
            item["user"] = {"token": token}
        own = tmp_path / "account.kubeconfig"
        own.write_text(yaml.safe_dump(config))
        yield Account(name, own, token)
    finally:
        remove(cluster, made)


@contextlib.contextmanager
def granted(cluster: Cluster, account: Account, options: Options) -> Iterator[Granted]:
    """Apply what the command prints for these options, and take it away again."""
    wanted = list(yaml.safe_load_all(rbac.render(options, account.name)))
    made: list[Object] = []
    try:
        made.extend(cluster.apply(item, manager="test") for item in wanted)
        rules: Granted = set()
        for item in (item for item in wanted if "rules" in item):
            where = item["metadata"].get("namespace", "")
            for policy in item["rules"]:
                names = tuple(policy.get("resourceNames", ()))
                group = policy["apiGroups"][0]
                for resource in policy["resources"]:
                    rules |= {(where, Rule(verb, group, resource, names=names)) for verb in policy["verbs"]}
        _await(account, rules)
        yield rules
    finally:
        remove(cluster, *made)


def _await(account: Account, rules: Granted) -> None:
    """The authoriser learns of new roles a moment after they are made."""
    caller = Cluster.connect(account.kubeconfig)
    asked = [replace(rule, namespace=where) for where, rule in rules]
    until(lambda: all(allowed(caller, asked).values()))


@dataclass
class Recording:
    """What was asked of the API server with one token, as rules with the namespace of the request."""

    token: str
    used: Granted = field(default_factory=set)
    refused: list[str] = field(default_factory=list)

    def take(self, method: str, url: str, headers: Mapping[str, str], status: int) -> None:
        if headers.get("authorization", headers.get("Authorization")) != f"Bearer {self.token}":
            return
        found = rule_of(method, url)
        if found:
            self.used.add(found)
            if status == 403:
                self.refused.append(f"{method} {url}")


def rule_of(method: str, url: str) -> tuple[str, Rule] | None:
    """Namespace and rule of a request, as the API server's authoriser sees it; None for what is no resource."""
    parts = urlsplit(url).path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    if parts[0] not in {"api", "apis"} or not rest:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource = rest[0] + (f"/{rest[2]}" if len(rest) > 2 else "")
    watches = "watch" in parse_qs(urlsplit(url).query)
    read = "watch" if watches else "get" if len(rest) > 1 else "list"
    return namespace, Rule(VERBS.get(method, read), group, resource)


@pytest.fixture
def recording(account: Account, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """Everything that goes over the wire under the account's token, watches included."""
    recording = Recording(account.token)
    send = urllib3.PoolManager.request

    def request(self: urllib3.PoolManager, method: str, url: str, *args: Any, **named: Any) -> Any:
        answer = send(self, method, url, *args, **named)
        recording.take(method, url, named.get("headers") or {}, answer.status)
        return answer

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    return recording


def unexpected(recording: Recording) -> list[str]:
    return [text for text in recording.refused if not any(attempt in text for attempt in ATTEMPTS)]


def findings(options: Options) -> dict[str, tuple[str, str, str]]:
    results = validate(options, silent).results
    return {item.check.id: (str(item.outcome.status), item.outcome.reason, item.outcome.message) for item in results}


def served(cluster: Cluster, rule: Rule) -> bool:
    group = rule.group and next((item for item in _groups(cluster) if item["name"] == rule.group), None)
    if rule.group and not group:
        return False
    root = f"/apis/{group['preferredVersion']['groupVersion']}" if group else "/api/v1"
    return any(item["name"] == rule.resource for item in cluster.request("GET", root)["resources"])


def _groups(cluster: Cluster) -> Any:
    return cluster.request("GET", "/apis")["groups"]


def unused(cluster: Cluster, rules: Granted, used: Granted, *, own_namespaces: bool) -> Granted:
    """Rules that nothing asked for where they were granted, of kinds that the cluster serves.

    What probes do in namespaces of their own is granted everywhere, and used in these. What is read in namespaces of
    the release is granted in all of them, and used where the release turns out to have such objects.
    """
    rules = {(where, replace(rule, names=())) for where, rule in rules}
    anywhere = {rule for _, rule in used}
    in_roles = {rule for where, rule in used if where and (where, rule) in rules}
    idle = {
        (where, rule)
        for where, rule in rules
        if (where, rule) not in used and not (rule in in_roles if where else own_namespaces and rule in anywhere)
    }
    return {(where, rule) for where, rule in idle if served(cluster, rule)}


@pytest.mark.long
def test_a_whole_run_in_a_given_namespace_needs_exactly_what_is_printed(
    cluster: Cluster, kubeconfig: Path, account: Account, recording: Recording
) -> None:
    options = Options(kubeconfig, probe_namespace=account.namespace, stability_seconds=1, report_dir=None)
    with granted(cluster, account, options) as rules:
        found = findings(Options(**{**vars(options), "kubeconfig": account.kubeconfig}))
        assert {id_: item for id_, item in found.items() if item[0] in {"error", "fail"}} == {}
        assert {found[id_][0] for id_ in ("I1", "I2", "H1", "H2", "D5", "G5", "B3")} == {"pass"}
        idle = unused(cluster, rules, recording.used, own_namespaces=False)
        assert {str(rule) for _, rule in idle} - UNUSED.keys() == set(), idle
        _asked_for_all_the_same(cluster, account, idle, options)
    assert unexpected(recording) == []


def _asked_for_all_the_same(cluster: Cluster, account: Account, idle: Granted, options: Options) -> None:
    """Without the rules that were not used, checks can no longer be judged, and each rule is named by one of them."""
    idle = {(where, rule) for where, rule in idle if str(rule) not in UNASKED}
    _take_away(cluster, idle)
    caller = Cluster.connect(account.kubeconfig)
    deadline = Deadline(120)
    chosen = [item for item in select(CHECKS, options.select) if not item.opt_in]
    expectations, _ = expectations_of(options, cluster)
    rights = placed(chosen, expectations, probe_namespace=options.probe_namespace, read_only=False)
    while True:
        missing = {
            **missing_for_probes(caller, chosen, options.probe_namespace),
            **missing_for_reading(caller, chosen, rights, options.probe_namespace, read_only=False),
        }
        told = " ".join(item.todo for item in missing.values())
        silent_about = [str(rule) for _, rule in idle if _line(rule) not in told]
        if not silent_about:
            return
        assert not deadline.passed, silent_about  # the authoriser learns of a changed role within a moment
        time.sleep(0.3)


def _line(rule: Rule) -> str:
    return f"- {{apiGroups: ['{rule.group}'], resources: ['{rule.resource}'], verbs: ['{rule.verb}']}}"


def _take_away(cluster: Cluster, idle: Granted) -> None:
    for namespace in {where for where, _ in idle}:
        kind = "Role" if namespace else "ClusterRole"
        role = cluster.get(Ref("rbac.authorization.k8s.io/v1", kind, namespace, rbac.NAME))
        assert role
        gone = {(rule.verb, rule.group, rule.resource) for where, rule in idle if where == namespace}
        role["rules"] = [
            {**policy, "resources": [resource], "verbs": [verb]}
            for policy in role["rules"]
            for resource in policy["resources"]
            for verb in policy["verbs"]
            if (verb, policy["apiGroups"][0], resource) not in gone
        ]
        cluster.replace(role)


def test_probes_in_namespaces_of_their_own_need_exactly_what_is_printed(
    cluster: Cluster, kubeconfig: Path, account: Account, recording: Recording
) -> None:
    options = Options(kubeconfig, select=("D5", "D8", "I"), stability_seconds=1, report_dir=None)
    with granted(cluster, account, options) as rules:
        found = findings(Options(**{**vars(options), "kubeconfig": account.kubeconfig}))
        assert {id_: item for id_, item in found.items() if item[0] != "pass" and id_ != "I4"} == {}
        idle = unused(cluster, rules, recording.used, own_namespaces=True)
        assert {str(rule) for _, rule in idle} - UNUSED.keys() == set(), idle
        _asked_for_all_the_same(cluster, account, idle, options)
    assert unexpected(recording) == []


@pytest.mark.long
def test_acceptance_needs_exactly_what_is_printed_when_it_is_asked_for(
    cluster: Cluster, kubeconfig: Path, account: Account, recording: Recording
) -> None:
    options = Options(kubeconfig, select=("J3", "I"), acceptance=True, stability_seconds=1, report_dir=None)
    without = rbac.render(replace(options, acceptance=False), account.name)
    assert "batch.volcano.sh" not in without
    with granted(cluster, account, options) as rules:
        found = findings(Options(**{**vars(options), "kubeconfig": account.kubeconfig}))
        assert {id_: item for id_, item in found.items() if item[0] != "pass" and id_ != "I4"} == {}
        idle = unused(cluster, rules, recording.used, own_namespaces=True)
        assert {str(rule) for _, rule in idle} - UNUSED.keys() == set(), idle
    assert unexpected(recording) == []


def test_secrets_with_the_key_of_an_authority_stay_closed_to_what_is_printed(
    cluster: Cluster, kubeconfig: Path, account: Account
) -> None:
    names = ("cert-manager-webhook-ca", "istio-ca-secret", "training-operator-webhook-cert")
    made = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}", "namespace": where}}
        for where in ("volcano-system", account.namespace)
        for name in names
    ]
    served = Ref("v1", "Secret", "volcano-system", "volcano-admission-secret")
    created = [cluster.create(item) for item in made]
    try:
        with granted(cluster, account, Options(kubeconfig, report_dir=None)):
            caller = Cluster.connect(account.kubeconfig)
            assert caller.get(served)
            others = [Ref.of(item) for item in cluster.list("v1", "Secret").items]
            for ref in (ref for ref in others if ref != served):
                with pytest.raises(ApiError) as refused:
                    caller.get(ref)
                assert refused.value.status == 403, ref
            with pytest.raises(ApiError, match="forbidden"):
                caller.list("v1", "Secret", namespace="volcano-system")
    finally:
        remove(cluster, *created)


def test_without_the_right_to_make_namespaces_probes_are_open_questions_that_say_how_to_answer_them(
    cluster: Cluster, kubeconfig: Path, account: Account
) -> None:
    reading = Options(kubeconfig, select=("A4", "H1"), read_only=True, stability_seconds=1, report_dir=None)
    with granted(cluster, account, reading):
        report = validate(
            Options(account.kubeconfig, select=("A4", "H1"), stability_seconds=1, report_dir=None), silent
        )
    found = {item.check.id: item.outcome for item in report.results}
    assert str(found["A4"].status) == "pass"
    assert (str(found["H1"].status), found["H1"].reason) == ("error", "Forbidden")
    assert "create namespaces" in found["H1"].message
    assert "--probe-namespace" in found["H1"].todo
    assert cluster.list("v1", "Namespace", labels=RUN_LABEL).items == ()


@pytest.mark.parametrize("components", [("volcano",), pytest.param(("training-operator",), marks=pytest.mark.long)])
def test_a_run_of_fewer_components_lacks_no_right_and_tells_what_it_did_not_read(
    cluster: Cluster, kubeconfig: Path, account: Account, components: tuple[str, ...]
) -> None:
    """Dex, which was not chosen, is there; its namespace is none of those in which rights are printed."""
    options = Options(
        kubeconfig,
        select=("E4", "E8", "F", "G"),
        profile=components,
        read_only=True,
        stability_seconds=1,
        report_dir=None,
    )
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "auth"}}
    with made(cluster, namespace, deployment_of_dex()), granted(cluster, account, options):
        found = findings(replace(options, kubeconfig=account.kubeconfig))
    assert {id_: item for id_, item in found.items() if item[0] == "error"} == {}
    assert found["E4"][:2] == found["E8"][:2] == ("skip", "NotRead")
    assert "get secrets dex-passwords in auth" in found["E4"][2]


def deployment_of_dex() -> Object:
    labels = {"app": "dex"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "dex", "image": "registry.example/dex"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return new_object("apps/v1", "Deployment", "dex", "auth", spec=spec)


def test_kinds_without_a_namespace_are_known(cluster: Cluster) -> None:
    """What cannot be granted in a Role is told by the server itself."""
    rules = {rule for item in CHECKS for rule in item.rules if "/" not in rule.resource}
    scoped: dict[str, bool] = {}
    for group in {rule.group for rule in rules}:
        versions = [item for item in _groups(cluster) if item["name"] == group] if group else []
        roots = [f"/apis/{item['preferredVersion']['groupVersion']}" for item in versions] if group else ["/api/v1"]
        for root in roots:
            for item in cluster.request("GET", root)["resources"]:
                scoped[f"{item['name']}.{group}" if group else item["name"]] = item["namespaced"]
    wrong = {
        rule.plural_group
        for rule in rules
        if rule.plural_group in scoped and scoped[rule.plural_group] == (rule.plural_group in CLUSTER_SCOPED)
    }
    assert wrong == set()
