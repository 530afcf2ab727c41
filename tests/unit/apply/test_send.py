"""Outcomes, retries and the policy for conflicts, against a server that answers as told."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
import yaml

from kubeflow_volcano.apply.problems import CONFLICTING_FIELDS, problem_of
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.send import Applier
from kubeflow_volcano.apply.survey import learn_kinds, survey
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent

ONE = "/api/v1/namespaces/ns/configmaps/one"
TWO = "/api/v1/namespaces/ns/configmaps/two"


def text(name: str = "one", kind: str = "ConfigMap", api_version: str = "v1") -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ns"}, "data": {"a": "1"}}


def live(api: Any, value: str = "1", version: str = "1", uid: str = "u", manager: str = "") -> Any:
    meta: Object = {"name": "one", "namespace": "ns", "uid": uid, "resourceVersion": version}
    if manager:
        meta["managedFields"] = [{"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {}}]
    return api.reply(body={**text(), "metadata": meta, "data": {"a": value}})


def applied(api: Any, *objects: Object, seconds: float = 20, **more: Any) -> tuple[ObjectOutcome, ...]:
    there = more.pop("namespaces", ("ns",))
    namespaces = [{"metadata": {"name": name}} for name in there]
    api.on("GET", "/api/v1/namespaces", api.reply(body={"items": namespaces, "metadata": {"resourceVersion": "1"}}))
    engine = Applier(api.connect(), Deadline(seconds), more.pop("progress", silent), **more)
    wanted = objects or (text(),)
    kinds = learn_kinds(engine.cluster, (obj["apiVersion"] for obj in wanted))
    found = survey(engine.cluster, {Ref.of(obj): obj for obj in wanted}, kinds, Deadline(seconds))
    return tuple(engine.apply(obj, found[Ref.of(obj)]) for obj in wanted)


def conflict(api: Any, manager: str) -> Any:
    return api.status(409, "Conflict", f'Apply failed with 1 conflict: conflict with "{manager}" using v1: .data.a')


def test_created_changed_and_unchanged(api: Any) -> None:
    api.on("PATCH", ONE, live(api, version="2"))
    assert applied(api)[0].action is Action.CREATED
    api.on("GET", ONE, live(api, version="1"))
    assert applied(api)[0].action is Action.UNCHANGED
    api.on("GET", ONE, live(api, "0"))
    assert applied(api)[0].action is Action.CHANGED
    api.on("GET", ONE, live(api, uid="old"))
    assert applied(api)[0].action is Action.CREATED


def test_the_manager_is_ours_and_nothing_is_forced(api: Any) -> None:
    api.on("PATCH", ONE, live(api))
    applied(api)
    (request,) = api.seen("PATCH", ONE)
    assert request.query == {"fieldManager": FIELD_MANAGER, "force": "false"}


def test_a_refusal_does_not_keep_others_from_being_sent(api: Any) -> None:
    api.on("PATCH", ONE, api.status(422, "Invalid", "no good"))
    api.on("PATCH", TWO, live(api))
    first, second = applied(api, text(), text("two"), seconds=3600)
    assert (first.action, second.action) == (Action.FAILED, Action.CREATED)
    assert first.reason == "422 Invalid: no good"


@pytest.mark.parametrize(
    "manager",
    ["kubectl", "kubectl-edit", "kubectl-client-side-apply", "before-first-apply", "kubeflow-volcano-0.0.9"],
)
def test_changes_by_hand_and_by_earlier_versions_are_set_back_and_told(api: Any, manager: str) -> None:
    api.on("GET", ONE, live(api, "0", manager=FIELD_MANAGER))
    api.on("PATCH", ONE, conflict(api, manager), live(api))
    lines: list[str] = []
    assert applied(api, progress=lines.append)[0].action is Action.CHANGED
    (line,) = lines
    assert re.match(f"ConfigMap ns/one: .*{re.escape(manager)} .*reset", line)
    assert [request.query["force"] for request in api.seen("PATCH", ONE)] == ["false", "true"]


@pytest.mark.parametrize("manager", ["kubectl", "before-first-apply", "helm"])
def test_objects_of_others_are_forced_only_if_they_are_adopted(api: Any, manager: str) -> None:
    api.on("GET", ONE, live(api, "0", manager=manager))
    api.on("PATCH", ONE, conflict(api, manager), live(api))
    (outcome,) = applied(api)
    assert outcome.action is Action.FAILED
    assert [request.query["force"] for request in api.seen("PATCH", ONE)] == ["false"]
    assert problem_of(outcome, text()).reason == CONFLICTING_FIELDS

    api.on("PUT", ONE, live(api, "0", manager=FIELD_MANAGER))
    api.on("PATCH", ONE, live(api))
    lines: list[str] = []
    assert applied(api, adopted={Ref.of(text())}, progress=lines.append)[0].action is Action.CHANGED
    (line,) = lines
    assert re.match(f"ConfigMap ns/one .*taken over .*{re.escape(manager)}", line)
    (put,) = api.seen("PUT", ONE)
    assert [entry["manager"] for entry in put.body["metadata"]["managedFields"]] == [FIELD_MANAGER]
    assert [request.query["force"] for request in api.seen("PATCH", ONE)] == ["false", "false"]


def test_an_adopted_object_that_no_known_tool_applied_is_forced(api: Any) -> None:
    api.on("GET", ONE, live(api, "0", manager="an-operator"))
    api.on("PATCH", ONE, conflict(api, "an-operator"), live(api))
    lines: list[str] = []
    assert applied(api, adopted={Ref.of(text())}, progress=lines.append)[0].action is Action.CHANGED
    (line,) = lines
    assert re.match("ConfigMap ns/one .*taken over .*an-operator", line)
    assert [request.query["force"] for request in api.seen("PATCH", ONE)] == ["false", "true"]


def test_what_a_roll_out_recorded_is_no_object_of_others_although_no_manager_is_left(api: Any) -> None:
    api.on("GET", ONE, live(api, "0", uid="recorded"))
    api.on("PATCH", ONE, conflict(api, "before-first-apply"), live(api, uid="recorded"))
    assert applied(api, brought={"recorded"})[0].action is Action.CHANGED


def test_an_adopted_object_is_ours_from_then_on_and_not_forced_any_more(api: Any) -> None:
    api.on("GET", ONE, live(api, "0", manager=FIELD_MANAGER))
    api.on("PATCH", ONE, conflict(api, "helm"))
    assert applied(api, adopted={Ref.of(text())})[0].action is Action.FAILED


def test_the_queue_that_volcano_itself_made_first_is_ours(api: Any) -> None:
    api.on("GET", ONE, live(api, "0"))
    api.on("PATCH", ONE, conflict(api, "vc-scheduler"), live(api))
    assert applied(api)[0].action is Action.CHANGED


@pytest.mark.parametrize("manager", ["kube-controller-manager", "helm", "my-kubectl", "my-kubeflow-volcano"])
def test_fields_that_somebody_else_meant_are_refused(api: Any, manager: str) -> None:
    api.on("PATCH", ONE, conflict(api, manager))
    (outcome,) = applied(api)
    assert outcome.action is Action.FAILED
    assert len(api.seen("PATCH", ONE)) == 1
    problem = problem_of(outcome, text())
    assert manager in problem.found
    assert problem.reason == CONFLICTING_FIELDS
    field = {"kind": "ConfigMap", "namespace": "ns", "name": "one", "paths": ["/data/a"]}
    assert {name: yaml.safe_load(text) for name, text in problem.details.items()} == {"fields": [field]}
    assert "kubectl patch ConfigMap one -n ns" in problem.todo


def test_one_foreign_manager_among_safe_ones_refuses_all(api: Any) -> None:
    body = {
        "reason": "Conflict",
        "message": "Apply failed with 2 conflicts",
        "details": {
            "causes": [
                {"message": 'conflict with "kubectl-client-side-apply" using v1'},
                {"message": 'conflict with "helm" using v1'},
            ]
        },
    }
    api.on("PATCH", ONE, api.reply(409, body))
    assert applied(api)[0].action is Action.FAILED


def test_a_webhook_that_does_not_answer_yet_is_waited_for_and_named(api: Any) -> None:
    down = api.status(500, "InternalError", 'failed calling webhook "w.example.com": no endpoints available')
    api.on("PATCH", ONE, down, down, live(api))
    lines: list[str] = []
    assert applied(api, progress=lines.append)[0].action is Action.CREATED
    assert len(lines) == 1
    assert "w.example.com" in lines[0]


def test_waiting_for_a_webhook_ends_at_the_deadline(api: Any) -> None:
    down = api.status(500, "InternalError", 'failed calling webhook "w.example.com": no endpoints available')
    api.on("PATCH", ONE, down)
    started = time.monotonic()
    assert applied(api, seconds=1.5)[0].action is Action.FAILED
    assert time.monotonic() - started > 1.0


DENIED = 'admission webhook "w.example.com" denied the request: '
LACKS_TWO = DENIED + 'failed to get parent queue of queue one: queue.scheduling.volcano.sh "two" not found'
RUN = [Ref.of(text()), Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "two")]


def test_a_webhook_that_has_not_seen_another_object_of_the_run_is_asked_again(api: Any) -> None:
    refused = api.status(400, "BadRequest", LACKS_TWO)
    api.on("PATCH", ONE, refused, refused, live(api))
    assert applied(api, refs=RUN)[0].action is Action.CREATED
    api.on("PATCH", ONE, refused)
    assert applied(api, refs=RUN[:1])[0].action is Action.FAILED
    assert [outcome.action for outcome in applied(api, refs=RUN, check=True)] == [Action.CREATED]
    api.on("GET", ONE, live(api, "0"))
    assert [outcome.action for outcome in applied(api, refs=RUN, check=True)] == [Action.CHANGED]


@pytest.mark.parametrize(
    ("lacks", "action"),
    [
        ('Queue.scheduling.volcano.sh "two" not found', Action.CREATED),  # a cache of controller-runtime
        ('queues "two" not found', Action.CREATED),
        ('no parent: "two" not found', Action.CREATED),
        ('priorityclass.scheduling.k8s.io "two" not found', Action.FAILED),  # a lister of client-go
        ('queues.example.com "two" not found', Action.FAILED),
        ('services "two" not found', Action.FAILED),
        ('queue.scheduling.volcano.sh "three" not found', Action.FAILED),
    ],
)
def test_an_object_is_another_one_of_the_run_by_its_kind_as_well(api: Any, lacks: str, action: Action) -> None:
    api.on("PATCH", ONE, api.status(400, "BadRequest", DENIED + lacks))
    assert applied(api, refs=RUN, check=True)[0].action is action


def test_a_kind_that_is_served_in_a_moment_is_waited_for(api: Any) -> None:
    path = "/apis/g.io/v1/namespaces/ns/foos/one"
    served = api.reply(body={"resources": [{"kind": "Foo", "name": "foos", "namespaced": True}]})
    missing = api.status(404, "NotFound", "the server could not find the requested resource")
    api.on("GET", "/apis/g.io/v1", missing, missing, served)
    api.on("PATCH", path, live(api))
    assert applied(api, text(kind="Foo", api_version="g.io/v1"))[0].action is Action.CREATED


def test_an_object_without_its_namespace_is_refused(api: Any) -> None:
    obj = text()
    del obj["metadata"]["namespace"]
    (outcome,) = applied(api, obj)
    assert outcome.action is Action.FAILED
    assert "names no namespace" in outcome.reason


def test_immutable_fields_are_explained() -> None:
    outcome = ObjectOutcome(Ref.of(text()), Action.FAILED, None, None, "422 Invalid: spec.template: field is immutable")
    assert "--check --diff" in problem_of(outcome, text()).todo


WEBHOOK = (
    "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o 'custom-columns="
    "NAME:.metadata.name,WEBHOOKS:.webhooks[*].name,SERVICES:.webhooks[*].clientConfig.service' | grep -F w.volcano.sh"
)


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ('400 BadRequest: admission webhook "w.volcano.sh" denied the request: no', WEBHOOK),
        ('500 InternalError: failed calling webhook "w.volcano.sh": not found', WEBHOOK),
        (
            "403 Forbidden: one is forbidden: exceeded quota: q, requested: configmaps=1, used: 0, limited: 0",
            "kubectl get resourcequotas -A",
        ),
        (
            '403 Forbidden: configmaps "one" is forbidden: User "jane" cannot patch resource',
            "kubectl create clusterrolebinding kubeflow-volcano --clusterrole=cluster-admin --user=jane",
        ),
        (
            "403 Forbidden: unable to create new content in namespace ns because it is being terminated",
            "kubectl get namespace ns -o 'jsonpath={.status.conditions[*].message}'",
        ),
        ('404 NotFound: namespaces "ns" not found', "kubectl create namespace ns"),
        ("404 NotServed: the API server serves no kind Foo in g.io/v1", "kubectl api-resources --api-group=g.io"),
        ("422 Invalid: spec.a: Invalid value", "kubectl get ConfigMap one -n ns -o yaml"),
    ],
)
def test_a_refusal_names_the_command_for_its_cause(reason: str, command: str) -> None:
    todo = problem_of(ObjectOutcome(Ref.of(text()), Action.FAILED, None, None, reason), text()).todo
    assert todo.endswith(f" ({command}); then run again.")


def test_check_mode_sends_dry_runs_only(api: Any) -> None:
    api.on("GET", ONE, live(api, "0"))
    api.on("PATCH", ONE, live(api))
    assert applied(api, check=True)[0].action is Action.CHANGED
    (request,) = api.seen("PATCH", ONE)
    assert request.query["dryRun"] == "All"


def test_check_mode_sends_nothing_for_what_stands_on_planned_things(api: Any) -> None:
    custom = text(kind="Foo", api_version="g.io/v1")
    outcomes = applied(
        api, text(), custom, check=True, namespaces=(), planned_namespaces={"ns"}, planned_groups={"g.io"}
    )
    assert [outcome.action for outcome in outcomes] == [Action.CREATED, Action.CREATED]
    assert [outcome.after for outcome in outcomes] == [text(), custom]
    assert {request.method for request in api.requests} == {"GET"}


def test_check_mode_is_honest_about_what_nobody_plans(api: Any) -> None:
    api.on("PATCH", ONE, api.status(404, "NotFound", 'namespaces "ns" not found'))
    plain, custom = applied(api, text(), text(kind="Foo", api_version="g.io/v1"), check=True, namespaces=())
    assert (plain.action, plain.reason.partition(":")[0]) == (Action.FAILED, "404 NotFound")
    assert custom.action is Action.FAILED
    assert "no kind Foo" in custom.reason
