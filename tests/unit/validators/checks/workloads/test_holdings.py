"""C1: what a release is to hold, by whom it is said, how it is looked for, and who else says that it is absent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, Brought, serialize
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.checks.workloads import holdings as checks
from kubeflow_volcano.validators.checks.workloads.holdings import HELD, Holdings
from kubeflow_volcano.validators.core.consequences import REASON, follow
from kubeflow_volcano.validators.core.expectations import Expectations, expect
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status, failed
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import placed
from kubeflow_volcano.validators.run.options import Options, expectations_of
from tests.samples.facts import crd, deployment, facts, obj, ref

OPERATOR = ref("Deployment", "kubeflow/training-operator")
ACCOUNT = Ref("v1", "ServiceAccount", "kubeflow", "training-operator")
SECRET = Ref("v1", "Secret", "kubeflow", "cert")
JOB = Ref("kubeflow.org/v1", "TFJob", "kubeflow", "x")
HOME = obj("Namespace", APPLIED_OBJECTS.namespace)
EXPECTED = Expectations(
    release="1.9.1",
    components=frozenset({"training-operator"}),
    workloads={OPERATOR: "training-operator"},
    crds={"tfjobs.kubeflow.org": "training-operator"},
    namespaces=frozenset({"kubeflow", "kube-system"}),
)


def judged(found: Holdings | None, *objects: Object) -> Any:
    return checks.inventory_complete(facts(*objects, expected=EXPECTED, known={HELD: found}))


def held(*refs: Ref, **rest: Any) -> Holdings:
    return Holdings("a plan", dict.fromkeys(refs, "training-operator"), **rest)


def test_what_exists_passes_and_says_by_what_list() -> None:
    outcome = judged(held(OPERATOR, ACCOUNT))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 2)
    assert " plan" in outcome.message


def test_an_empty_list_is_no_pass() -> None:
    assert judged(None).reason == "NothingExpected"
    assert judged(held()).status is Status.FAIL


def test_what_is_absent_fails_by_component() -> None:
    outcome = judged(held(OPERATOR, ACCOUNT, absent=frozenset({ACCOUNT})))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, "Absent", (frozenset({ACCOUNT}),))
    assert outcome.observed["absent"] == {"training-operator": 1}
    assert "ServiceAccount kubeflow/training-operator" in outcome.message


def test_what_other_checks_miss_too_is_their_failure() -> None:
    definition = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "tfjobs.kubeflow.org")
    assert judged(held(OPERATOR, absent=frozenset({OPERATOR}))).because == (frozenset({OPERATOR}),)
    both = frozenset({definition, JOB})
    unserved = judged(held(*both, absent=both, unserved=frozenset({JOB})))
    assert set(unserved.because) == {"B1", frozenset({definition})}
    mixed = judged(held(OPERATOR, ACCOUNT, absent=frozenset({OPERATOR, ACCOUNT})))
    missing = failed("Missing", "it is missing", todo="install it", objects=(OPERATOR,))
    assert follow({"C1": mixed, "C2": missing})["C1"].status is Status.FAIL
    only = judged(held(OPERATOR, absent=frozenset({OPERATOR})))
    assert follow({"C1": only, "C2": missing})["C1"].reason == REASON


def test_a_right_that_is_missing_is_an_error_with_the_rule_and_absence_outweighs_it() -> None:
    roles = Rule("list", "rbac.authorization.k8s.io", "roles")
    outcome = judged(held(OPERATOR, refused=(roles,)))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Forbidden")
    assert "resources: ['roles'], verbs: ['list']" in outcome.todo
    assert (
        judged(held(OPERATOR, refused=(roles,), absent=frozenset({ACCOUNT, OPERATOR}) & {OPERATOR})).reason == "Absent"
    )


def test_a_list_that_could_not_be_made_is_no_pass() -> None:
    with pytest.raises(CannotJudgeError):
        checks.inventory_complete(facts(known={HELD: Unread("Unreachable", "no answer", "see")}))


# how it is looked for


def resource(kind: str, plural: str) -> Object:
    return {"kind": kind, "name": plural, "namespaced": True}


@pytest.fixture
def server(api: Any) -> Any:
    """A server with one ServiceAccount, Secrets and no TFJobs."""
    core = [resource("ConfigMap", "configmaps"), resource("Secret", "secrets")]
    core.append(resource("ServiceAccount", "serviceaccounts"))
    api.on("GET", "/api/v1", api.reply(body={"resources": core}))
    listing = {
        "metadata": {"resourceVersion": "1"},
        "items": [{"metadata": {"name": ACCOUNT.name, "namespace": "kubeflow"}}],
    }
    api.on("GET", "/api/v1/namespaces/kubeflow/serviceaccounts", api.reply(body=listing))
    return api


def known(*objects: Object, expected: Expectations = EXPECTED, **rest: Any) -> Facts:
    live = (deployment("kubeflow/training-operator"), crd("tfjobs.kubeflow.org"), HOME)
    return facts(*live, *objects, expected=expected, **rest)


def brought(*refs: Ref) -> Brought:
    return Brought("1.9.1", dict.fromkeys(refs, "u"), {"1.8.1": {Ref("v1", "Service", "kubeflow", "old"): "u"}})


def wrote(api: Any, **components: str) -> None:
    path = f"/api/v1/namespaces/{APPLIED_OBJECTS.namespace}/configmaps/{APPLIED_OBJECTS.name}"
    api.on("GET", path, api.reply(body={"metadata": {"name": APPLIED_OBJECTS.name}, "data": components}))


def test_a_caller_s_list_comes_first_and_names_alone_are_read(server: Any) -> None:
    wrote(server, **{"training-operator": serialize(brought(JOB))})
    given = replace(EXPECTED, objects={ACCOUNT: "a", SECRET: "a"}, objects_from="the manifests")
    found = HELD.fetch(server.connect(), known(expected=given))
    assert found
    assert (found.source, found.absent) == ("the manifests", frozenset())
    assert {ACCOUNT, OPERATOR} <= set(found.expected)
    assert SECRET not in found.expected  # to see whether it is there is to read it
    asked = [item for item in server.requests if "/namespaces/kubeflow/" in item.path]
    assert len(asked) == 1
    assert all("as=PartialObjectMetadata" in item.headers["accept"] for item in asked)


def test_an_object_without_a_namespace_is_looked_for_where_it_goes(server: Any) -> None:
    space, nowhere = Ref("v1", "Namespace", "", "kubeflow"), ACCOUNT._replace(namespace="")
    given = replace(EXPECTED, objects={nowhere: "a", space._replace(namespace="x"): "a"}, objects_from="x")
    listing = {
        "metadata": {"resourceVersion": "1"},
        "items": [{"metadata": {"name": ACCOUNT.name, "namespace": "default"}}],
    }
    server.on("GET", "/api/v1/namespaces/default/serviceaccounts", server.reply(body=listing))
    kinds = [resource("ServiceAccount", "serviceaccounts"), resource("Namespace", "namespaces") | {"namespaced": False}]
    server.on("GET", "/api/v1", server.reply(body={"resources": kinds}))
    live = known(obj("Namespace", "kubeflow"), expected=given)
    found = HELD.fetch(server.connect(), live)
    assert found
    assert found.absent == frozenset()


def test_then_what_the_roll_out_wrote_down_of_the_chosen_components(server: Any) -> None:
    gone = ACCOUNT._replace(name="gone")
    wrote(
        server,
        **{
            "training-operator": serialize(brought(ACCOUNT, gone, JOB)),
            "katib": serialize(brought(SECRET)),
            "broken": "{",
        },
    )
    found = HELD.fetch(server.connect(), known())
    assert found
    assert "rollout-objects" in found.source
    assert (set(found.absent), set(found.unserved)) == ({gone, JOB}, {JOB})
    assert SECRET not in found.expected
    assert OPERATOR not in found.expected  # the inventory left it out


def test_then_the_catalog(server: Any) -> None:
    found = HELD.fetch(server.connect(), known())
    assert found
    assert "catalog of release 1.9.1" in found.source
    assert {item.kind for item in found.expected} == {"Deployment", "CustomResourceDefinition"}
    assert found.absent == frozenset()


def test_rights_that_are_missing_are_kept_and_an_outage_is_not_absence(server: Any) -> None:
    given = replace(EXPECTED, objects={ACCOUNT: "a", SECRET: "a"}, objects_from="x")
    server.on("GET", "/api/v1/namespaces/kubeflow/serviceaccounts", server.status(403, "Forbidden", "no"))
    found = HELD.fetch(server.connect(), known(expected=given))
    assert found
    assert set(found.refused) == {Rule("list", "", "serviceaccounts")}
    assert found.absent == frozenset()
    wrote(server)
    path = f"/api/v1/namespaces/{APPLIED_OBJECTS.namespace}/configmaps/{APPLIED_OBJECTS.name}"
    server.on("GET", path, server.status(403, "Forbidden", "no"))
    found = HELD.fetch(server.connect(), known())
    assert found
    assert found.refused == (Rule("get", "", "configmaps", APPLIED_OBJECTS.namespace),)


# what the caller says


def test_a_plan_s_objects_are_read_and_anything_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "objects.json"
    file.write_text('{"schema": "kfv.objects/v1", "components": {"a": {"v1 Secret": ["kubeflow/cert"]}}}')
    found, _ = expectations_of(Options(release="1.9.1", expected=file), None)
    assert (found.objects, found.objects_from) == ({SECRET: "a"}, str(file))
    file.write_text("{}")
    with pytest.raises(InvalidInput, match=r"objects\.json"):
        expectations_of(Options(release="1.9.1", expected=file), None)


def test_a_report_tells_the_number_of_objects_and_not_their_names() -> None:
    shown = Options(expected_objects={SECRET: "a"}, expected=Path("x")).shown
    assert (shown["expected_objects"], shown["expected"]) == (1, "x")
    assert "read_only" in Options(read_only=True).asked - Options().asked


# the rights


def test_kinds_of_a_whole_platform_are_only_asked_for_where_it_is_expected() -> None:
    def granted(profile: str) -> set[tuple[str, Rule]]:
        rules = placed([checks.inventory_complete], expect("1.9.1", profile), probe_namespace="", read_only=True)
        return {(where, rule) for where, found in rules.items() for rule in found}

    gateways = ("", Rule("list", "networking.istio.io", "gateways"))
    assert gateways in granted("full") - granted("training")
    assert ("", Rule("list", "", "services")) in granted("training")
    assert not [rule for _, rule in granted("full") if rule.resource == "secrets"]
