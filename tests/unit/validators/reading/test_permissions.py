"""Which rules a run needs and where, and that none is asked for that nothing needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.cli import rbac
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import expect
from kubeflow_volcano.validators.core.facts import Facts, Probe, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, skipped
from kubeflow_volcano.validators.core.resources import PODS
from kubeflow_volcano.validators.core.rights import HOMES, Rule
from kubeflow_volcano.validators.reading.devices import DEVICES
from kubeflow_volcano.validators.reading.permissions import (
    allowed,
    as_yaml,
    for_gang,
    missing_for_probes,
    missing_for_reading,
    placed,
)
from kubeflow_volcano.validators.run.options import Options

EXPECTED = expect("1.9.1")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def nothing(_facts: Facts) -> Outcome:
    return skipped("Nothing", "nothing.")


def a_check(*needs: Rule | Read, id_: str = "A9", probe: str = "", component: str = "") -> Check:
    """One that needs these rules, where its probe acts if it has one, and reads the rest."""
    rules = tuple(item for item in needs if isinstance(item, Rule))
    reads = tuple(item for item in needs if not isinstance(item, Rule))
    acting: Probe[None] | None = Probe(probe, lambda *_: None, "room", needs=rules) if probe else None
    return Check(
        id_, "some", "It holds", "Mend it.", Severity.MAJOR, nothing,
        reads=reads, needs=() if acting else rules, probe=acting, component=component,
    )  # fmt: skip


def where(*checks: Check, probe_namespace: str = "", read_only: bool = False) -> dict[str, set[str]]:
    """Rules in words by namespace, without those of every run."""
    found = placed(checks, EXPECTED, probe_namespace=probe_namespace, read_only=read_only)
    told = {name: {str(rule) for rule in rules} for name, rules in found.items()}
    told[""] -= {"list namespaces", "list nodes", *map(str, DEVICES.needs)}
    return {name: rules for name, rules in told.items() if rules}


GET_SECRETS = Rule("get", "", "secrets")


def test_what_is_listed_for_the_snapshot_is_needed_everywhere() -> None:
    assert where(a_check(PODS), probe_namespace="team") == {"": {"list pods"}}


def test_what_a_probe_does_is_needed_in_its_namespace_only() -> None:
    probing = a_check(PODS, Rule("create", "", "pods"), Rule("create", "", "namespaces"), probe="gang")
    assert where(probing, probe_namespace="team") == {"": {"list pods"}, "team": {"create pods"}}
    assert where(probing) == {"": {"list pods", "create pods", "create namespaces"}}
    assert where(probing, read_only=True) == {}


def test_tokens_and_logs_of_a_profile_are_asked_for_where_one_is_named_and_nowhere_else() -> None:
    needs = (Rule("create", "", "serviceaccounts/token", names=("default-editor",)), Rule("get", "", "pods/log"))
    check = a_check(*needs, GET_SECRETS, probe="p")
    assert where(check) == {"": {str(GET_SECRETS)}}
    assert where(check, probe_namespace="team") == {"team": {*map(str, needs), str(GET_SECRETS)}}


def test_dry_runs_are_made_in_one_namespace() -> None:
    dry = a_check(Rule("create", "kubeflow.org", "tfjobs"))
    assert where(dry) == {"default": {"create tfjobs.kubeflow.org"}}
    assert where(dry, probe_namespace="team") == {"team": {"create tfjobs.kubeflow.org"}}
    assert where(dry, read_only=True) == {}


def test_what_is_read_in_the_namespaces_of_the_release_is_needed_in_these() -> None:
    wanted = {"volcano-monitoring", "volcano-system", "kubeflow", "local-path-storage"}
    assert set(where(a_check(replace(GET_SECRETS, namespace=HOMES)))) == wanted


def test_what_belongs_to_a_namespace_or_component_that_is_not_expected_is_not_asked_for() -> None:
    assert where(a_check(replace(GET_SECRETS, namespace="auth"))) == {}
    assert where(a_check(PODS, component="trainer")) == {}


def test_what_lives_in_no_namespace_is_never_granted_in_one() -> None:
    probing = a_check(Rule("patch", "", "persistentvolumes"), probe="storage")
    assert where(probing, probe_namespace="team") == {"": {"patch persistentvolumes"}}


@pytest.mark.parametrize("release", ["1.6.1", "1.9.1", "26.03.1"])
def test_secrets_are_read_by_name_and_no_log_everywhere(release: str) -> None:
    found = placed(CHECKS, expect(release, "full"), probe_namespace="", read_only=False)
    assert not [str(rule) for rule in found[""] if rule.resource in {"secrets", "pods/log"}]
    secrets = {where: rule for where, rules in found.items() for rule in rules if rule.resource == "secrets"}
    assert {"kubeflow", "volcano-system", "auth"} == secrets.keys()
    assert [str(rule) for rule in secrets.values() if rule.verb != "get" or not rule.names] == []


def test_a_read_only_run_may_change_nothing() -> None:
    found = placed(CHECKS, EXPECTED, probe_namespace="", read_only=True)
    verbs = {(rule.verb, rule.group) for rules in found.values() for rule in rules}
    assert {verb for verb, group in verbs if group != "authorization.k8s.io"} <= {"get", "list", "watch"}


def of_gang_scheduler(name: str, **options: Any) -> dict[str, set[str]]:
    """Rules in words by namespace of all checks, where that one makes the gangs."""
    expected = expect("1.9.1", gang_scheduler=name)
    found = placed(for_gang(CHECKS, expected), expected, **{"probe_namespace": "", "read_only": False, **options})
    return {name: {str(rule) for rule in rules} for name, rules in found.items()}


@pytest.mark.parametrize("place", ["", "team"])
def test_where_another_scheduler_makes_the_gangs_its_groups_take_the_place_of_volcanos(place: str) -> None:
    volcano = of_gang_scheduler("volcano", probe_namespace=place)
    other = of_gang_scheduler("scheduler-plugins", probe_namespace=place)
    gone = {rule for rules in volcano.values() for rule in rules} - {rule for rules in other.values() for rule in rules}
    assert {rule for rule in gone if "volcano.sh" not in rule} == {
        "get leases.coordination.k8s.io",
        "get secrets volcano-admission-secret",
        "list networkpolicies.networking.k8s.io",  # B4 asks webhooks with Volcano's jobs
    }
    assert not [rule for rules in other.values() for rule in rules if "volcano" in rule]
    groups = {f"{verb} podgroups.scheduling.x-k8s.io" for verb in ("create", "delete", "list", "watch")}
    assert {rule for rules in other.values() for rule in rules} - {
        rule for rules in volcano.values() for rule in rules
    } == {*groups, "list elasticquotas.scheduling.x-k8s.io"}
    assert groups <= other[place] | other[""]


def test_without_probes_the_groups_of_another_gang_scheduler_are_only_listed() -> None:
    """B9 lists the objects of every expected CRD."""
    found = of_gang_scheduler("scheduler-plugins", read_only=True)
    asked = [rule for rules in found.values() for rule in rules if "podgroups" in rule]
    assert asked == ["list podgroups.scheduling.x-k8s.io"]


def test_the_kind_of_every_expected_crd_is_listed() -> None:
    found = placed(CHECKS, EXPECTED, probe_namespace="", read_only=True)[""]
    kinds = {f"{rule.resource}.{rule.group}" for rule in found if rule.verb == "list"}
    assert EXPECTED.crds
    assert kinds >= set(EXPECTED.crds)


def test_rights_are_printed_for_the_gang_scheduler_that_is_named() -> None:
    text = rbac.render(Options(release="1.9.1", gang_scheduler="scheduler-plugins"), "ci/validator")
    assert "scheduling.x-k8s.io" in text
    assert "volcano.sh" not in text
    assert "scheduler volcano (default" in rbac.render(Options(release="1.9.1"), "ci/validator")


def test_each_right_is_printed_with_the_checks_that_need_it() -> None:
    text = rbac.render(Options(release="1.9.1", select=("A4", "B3", "D1"), read_only=True), "ci/validator")
    assert "# - in namespace volcano-system\n#     get secrets volcano-admission-secret: B3\n" in text
    assert "#     list nodes: every run\n" in text
    assert "#     list storageclasses.storage.k8s.io: D1\n" in text


def test_a_right_to_single_objects_names_them_in_its_role() -> None:
    roles = {item["metadata"].get("namespace"): item for item in documents(select=("B3",)) if "rules" in item}
    named = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["volcano-admission-secret"],
        "verbs": ["get"],
    }
    assert named in roles["volcano-system"]["rules"]
    assert "resourceNames" not in str(roles[None])


def test_every_object_of_a_right_is_asked_for(api: Any) -> None:
    asked = reviewing(api)
    rule = Rule("get", "", "secrets", "auth", ("a", "b"))
    assert allowed(api.connect(), [rule]) == {rule: True}
    assert [item["name"] for item in asked] == ["a", "b"]
    assert as_yaml([rule]) == "- {apiGroups: [''], resources: ['secrets'], resourceNames: ['a', 'b'], verbs: ['get']}"


def test_nothing_is_granted_twice() -> None:
    found = placed(CHECKS, EXPECTED, probe_namespace="team", read_only=False)
    assert not [rule for name, rules in found.items() if name for rule in rules if rule in found[""]]


def reviewing(api: Any, *denied: str) -> list[Any]:
    """Access reviews that deny rules in words, as 'verb resource in namespace'; returns what is asked."""
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        found = request.body["spec"]["resourceAttributes"]
        asked.append(found)
        words = f"{found['verb']} {found['resource']}" + (f" in {found['namespace']}" if "namespace" in found else "")
        return api.reply(201, {"status": {"allowed": words not in denied}})

    kind = {"kind": "SelfSubjectAccessReview", "name": "selfsubjectaccessreviews", "namespaced": False}
    api.on("GET", "/apis/authorization.k8s.io/v1", api.reply(200, {"resources": [kind]}))
    api.on("POST", REVIEWS, answer)
    return asked


def test_a_missing_right_of_a_probe_is_an_error_that_prints_the_rule(api: Any) -> None:
    reviewing(api, "create pods in team")
    probing = a_check(Rule("create", "", "pods"), PODS, id_="H1", probe="gang")
    (found,) = missing_for_probes(api.connect(), [probing], "team").values()
    assert "create pods" in found.message
    assert "list pods" not in found.message
    assert "- {apiGroups: [''], resources: ['pods'], verbs: ['create']}" in found.todo


def test_what_a_probe_reads_in_a_namespace_that_need_not_be_there_is_not_asked_for(api: Any) -> None:
    asked = reviewing(api, "get configmaps in local-path-storage")
    looking = a_check(Rule("get", "", "configmaps", "local-path-storage"), PODS, id_="D8", probe="storage")
    assert missing_for_probes(api.connect(), [looking], "") == {}
    assert [item["resource"] for item in asked] == ["pods"]


def test_who_may_not_make_namespaces_is_told_of_the_other_way(api: Any) -> None:
    reviewing(api, "create namespaces")
    probing = a_check(Rule("create", "", "namespaces"), id_="H1", probe="gang")
    (found,) = missing_for_probes(api.connect(), [probing], "").values()
    assert "--probe-namespace" in found.todo
    assert missing_for_probes(api.connect(), [probing], "team") == {}


def test_every_rule_is_asked_for_where_it_is_needed(api: Any) -> None:
    refused = "get configmaps in auth"
    asked = reviewing(api, refused)
    reading = a_check(Rule("get", "", "configmaps", "auth"), PODS, Rule("create", "kubeflow.org", "tfjobs"), id_="E4")
    rights = placed([reading], expect("1.9.1", ["dex"]), probe_namespace="", read_only=False)
    found = missing_for_reading(api.connect(), [reading], rights, "", read_only=False)
    assert list(found) == [refused]
    places = {(item["verb"], item["resource"], item.get("namespace")) for item in asked}
    assert places == {("get", "configmaps", "auth"), ("create", "tfjobs", "default")}


def test_what_only_components_need_that_are_not_chosen_is_not_asked_for(api: Any) -> None:
    """The command prints no such rule, and a run with what it prints may lack nothing."""
    asked = reviewing(api, "get leases.coordination.k8s.io in kubeflow")
    chosen = expect("1.9.1", ["volcano"])
    reading = a_check(Rule("get", "coordination.k8s.io", "leases", "kubeflow"), GET_SECRETS)
    rights = placed([reading], chosen, probe_namespace="", read_only=False)
    assert missing_for_reading(api.connect(), [reading], rights, "", read_only=False) == {}
    assert [item["resource"] for item in asked] == ["secrets"]


def documents(**options: Any) -> list[Any]:
    return list(yaml.safe_load_all(rbac.render(Options(release="1.9.1", **options), "ci/validator")))


def test_roles_come_with_bindings_to_the_account() -> None:
    found = documents(select=("gang",), probe_namespace="team")
    assert [(item["kind"], item["metadata"].get("namespace")) for item in found] == [
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("Role", "team"),
        ("RoleBinding", "team"),
    ]
    subject = {"kind": "ServiceAccount", "namespace": "ci", "name": "validator"}
    assert [item["subjects"] for item in found if "subjects" in item] == [[subject], [subject]]
    assert {item["roleRef"]["name"] for item in found if "roleRef" in item} == {rbac.NAME}


def test_the_head_says_why_probes_are_granted_so_much_where_they_are() -> None:
    own = rbac.render(Options(release="1.9.1", select=("gang",)), "ci/validator")
    assert "granted in all" in own
    for narrower in (Options(release="1.9.1", probe_namespace="team"), Options(release="1.9.1", read_only=True)):
        assert "granted in all" not in rbac.render(narrower, "ci/validator")


@pytest.mark.parametrize("account", ["validator", "/validator", "ci/", "a/b/c"])
def test_an_account_that_is_none_is_refused(account: str) -> None:
    with pytest.raises(InvalidInput, match="NAMESPACE/NAME"):
        rbac.render(Options(release="1.9.1"), account)
