"""Whether a FlowSchema of others takes the bindings of Volcano's scheduler, and what H1 says then."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.outcome import Status, warned
from kubeflow_volcano.validators.subjects.gang.flows import FLOW, Flow, held_back, takes_bindings
from tests.samples.facts import deployment, facts

ALL: Object = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "namespaces": ["*"], "clusterScope": True}
PLACE = "/apis/flowcontrol.apiserver.k8s.io/v1"


def schema(name: str, *subjects: Object, precedence: int = 100, own: bool = False, **rule: Any) -> Object:
    annotations = {"apf.kubernetes.io/autoupdate-spec": "true"} if own else {}
    rules = [{"subjects": list(subjects), "resourceRules": [ALL | rule]}]
    level = {"name": f"level-of-{name}"}
    spec = {"matchingPrecedence": precedence, "priorityLevelConfiguration": level, "rules": rules}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


def group(name: str) -> Object:
    return {"kind": "Group", "group": {"name": name}}


def account(name: str, namespace: str = "volcano-system") -> Object:
    return {"kind": "ServiceAccount", "serviceAccount": {"name": name, "namespace": namespace}}


@pytest.mark.parametrize(
    ("found", "takes"),
    [
        (schema("a", group("system:serviceaccounts:volcano-system")), True),
        (schema("a", group("system:serviceaccounts:kubeflow")), False),
        (
            schema("a", {"kind": "User", "user": {"name": "system:serviceaccount:volcano-system:volcano-scheduler"}}),
            True,
        ),
        (schema("a", account("*")), True),
        (schema("a", account("volcano-scheduler", "kubeflow")), False),
        (schema("a", account("volcano-scheduler"), resources=["pods/binding"], apiGroups=[""], verbs=["create"]), True),
        (schema("a", account("volcano-scheduler"), resources=["leases"]), False),
        (schema("a", account("volcano-scheduler"), namespaces=["kube-system"]), False),
        (schema("a", account("volcano-scheduler"), verbs=["list"]), False),
    ],
)
def test_a_schema_takes_what_its_rules_match(found: Object, takes: bool) -> None:  # noqa: FBT001
    assert takes_bindings(found, "volcano-system", "volcano-scheduler") is takes


OWN = schema("service-accounts", group("system:serviceaccounts"), precedence=9000, own=True)


@pytest.mark.parametrize(
    ("schemas", "shares", "name"),
    [
        ((OWN, schema("batch", account("*"))), 0, "batch"),
        ((OWN, schema("batch", account("*"))), 20, ""),
        ((OWN, schema("batch", account("*"), precedence=9500)), 0, ""),
        ((OWN,), 0, ""),
    ],
)
def test_the_first_that_matches_counts_if_it_is_of_others_and_gives_little(
    api: Any, schemas: Any, shares: int, name: str
) -> None:
    kinds = {"flowschemas": "FlowSchema", "prioritylevelconfigurations": "PriorityLevelConfiguration"}
    items = [{"kind": kind, "name": plural, "namespaced": False} for plural, kind in kinds.items()]
    api.on("GET", PLACE, api.reply(200, {"resources": items}))
    page = {"items": list(schemas), "metadata": {"resourceVersion": "5"}}
    api.on("GET", f"{PLACE}/flowschemas", api.reply(200, page))
    limited = {"limited": {"nominalConcurrencyShares": shares}}
    api.on("GET", f"{PLACE}/prioritylevelconfigurations/level-of-batch", api.reply(200, {"spec": limited}))
    scheduler = deployment("volcano-system/volcano-scheduler")
    scheduler["spec"]["template"]["spec"]["serviceAccountName"] = "volcano-scheduler"
    found = FLOW.fetch(api.connect(), facts(scheduler))
    assert (found.schema.name if found else "") == name


def test_a_slow_scheduler_is_told_with_who_holds_it_back() -> None:
    level = Ref("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "", "jail")
    flow = Flow(level._replace(kind="FlowSchema", name="batch"), level, 0)
    outcome = held_back(warned("SlowPlacement", "slow.", todo="see the load."), flow)
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.WARN, ["batch", "jail"])
    assert "FlowSchema batch" in outcome.todo
