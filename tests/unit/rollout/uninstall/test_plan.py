"""What goes, what stays and why, for objects of every sort."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.removing.contents import Contents
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.settings.uninstall import UninstallSettings
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.uninstall.plan import Plan, dangling_webhooks, make_plan
from kubeflow_volcano.rollout.uninstall.survey import Survey, was_made_by_others

SPACE = Ref("v1", "Namespace", "", "kubeflow")
CLAIM = Ref("v1", "PersistentVolumeClaim", "kubeflow", "mysql")
PROFILE = Ref("kubeflow.org/v1", "Profile", "", "jane")
ROLE = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r")
QUEUE = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "gpu")
SERVICE = Ref("v1", "Service", "kubeflow", "hook")


def live(ref: Ref, **meta: Any) -> Object:
    meta = {"name": ref.name, "namespace": ref.namespace, "uid": f"uid-{ref.name}", **meta}
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta}


def planned(*refs: Ref, data: tuple[str, ...] = (), **survey: Any) -> Plan:
    ours = tuple(Stale(ref, live(ref), "part", "1") for ref in refs)
    return make_plan(Survey({}, ours, **survey), UninstallSettings((), data, (), (), "refuse", 60))


def going(plan: Plan) -> set[Ref]:
    return {item.ref for item in plan.going}


def kept(plan: Plan) -> dict[Ref, str]:
    return {item.ref: item.why for item in plan.kept}


def contents(*items: Object, **unread: str) -> Contents:
    return Contents({"kubeflow": items}, unread)


def test_everything_that_a_roll_out_brought_goes() -> None:
    plan = planned(SPACE, ROLE, SERVICE, contents=contents(live(SERVICE)))
    assert going(plan) == {SPACE, ROLE, SERVICE}
    assert plan.kept == ()


def test_data_stays_with_its_namespace_and_the_setting_that_removes_it_is_named() -> None:
    plan = planned(SPACE, CLAIM, PROFILE, contents=contents(live(CLAIM)))
    assert going(plan) == set()
    assert set(kept(plan)) == {SPACE, CLAIM, PROFILE}
    wanted = 'uninstall_data: ["PersistentVolumeClaim kubeflow/mysql"]'
    assert {item.todo for item in plan.kept if item.ref in {SPACE, CLAIM}} == {wanted}


def test_named_data_goes() -> None:
    plan = planned(SPACE, CLAIM, PROFILE, data=(str(CLAIM), str(PROFILE)), contents=contents(live(CLAIM)))
    assert going(plan) == {SPACE, CLAIM, PROFILE}


def test_a_namespace_with_an_object_of_others_stays_and_names_it() -> None:
    theirs = live(Ref("v1", "ConfigMap", "kubeflow", "theirs"))
    plan = planned(SPACE, SERVICE, contents=contents(live(SERVICE), theirs))
    assert going(plan) == {SERVICE}
    assert {ref: why.partition(": ")[2] for ref, why in kept(plan).items()} == {SPACE: "ConfigMap theirs"}


def test_the_api_version_in_which_an_object_is_listed_does_not_matter() -> None:
    scaler = Ref("autoscaling/v2", "HorizontalPodAutoscaler", "kubeflow", "a")
    older = scaler._replace(api_version="autoscaling/v1")
    assert going(planned(SPACE, scaler, contents=contents(live(older)))) == {SPACE, scaler}


def test_what_programs_of_our_components_made_keeps_no_namespace() -> None:
    certificate = live(
        Ref("v1", "Secret", "kubeflow", "c"), annotations={"cert-manager.io/certificate-name": "serving"}
    )
    authority = live(Ref("v1", "ConfigMap", "kubeflow", "istio-ca-root-cert"))
    assert going(planned(SPACE, contents=contents(certificate, authority))) == {SPACE}


def test_a_namespace_that_cannot_be_listed_whole_stays() -> None:
    plan = planned(SPACE, contents=contents(things="no answer"))
    ((ref, why),) = kept(plan).items()
    assert (ref, why.startswith("things "), why.endswith(": no answer")) == (SPACE, True, True)


def test_a_queue_with_jobs_stays_and_an_empty_one_goes() -> None:
    assert going(planned(QUEUE, jobs={"gpu": []})) == {QUEUE}
    plan = planned(QUEUE, jobs={"gpu": ["PyTorchJob n/a (Running)"]})
    assert {ref: why.partition(": ")[2] for ref, why in kept(plan).items()} == {QUEUE: "PyTorchJob n/a (Running)"}


def test_what_others_made_before_is_given_back_and_not_deleted() -> None:
    plan = planned(SPACE, ROLE, shared=frozenset({SPACE}))
    assert going(plan) == {ROLE}
    assert [item.ref for item in plan.released] == [SPACE]


def test_webhooks_of_others_that_lose_their_service_are_found() -> None:
    hook = Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "theirs")
    hooks = {hook: frozenset({("kubeflow", "hook"), ("elsewhere", "x")})}
    ours = (Stale(SERVICE, live(SERVICE), "part", "1"),)
    survey = Survey({}, ours, hooks=hooks)
    assert dangling_webhooks(survey, Plan(ours, (), ())) == {hook: ("kubeflow", "hook")}
    assert dangling_webhooks(survey, Plan((), (), ())) == {}


CREATED, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def entry(manager: str, time: str, operation: str = "Apply", subresource: str = "") -> dict[str, str]:
    return {"manager": manager, "operation": operation, "time": time, "subresource": subresource}


@pytest.mark.parametrize(
    ("entries", "answer"),
    [
        ([entry("kubeflow-volcano", CREATED)], False),
        ([entry("kubectl-create", CREATED, "Update"), entry("kubeflow-volcano", LATER)], True),
        ([entry("helm", CREATED), entry("kubeflow-volcano", LATER)], True),
        ([entry("kubeflow-volcano", CREATED), entry("kubectl-label", LATER, "Update")], False),
        ([entry("kube-controller-manager", CREATED, "Update", "status"), entry("kubeflow-volcano", LATER)], False),
        ([entry("kubectl-create", CREATED, "Update")], False),
    ],
    ids=["ours", "kubectl-before", "helm-before", "labelled-later", "controller", "not-ours-at-all"],
)
def test_who_made_a_namespace_is_read_from_its_managers(entries: list[dict[str, str]], *, answer: bool) -> None:
    space = live(SPACE, creationTimestamp=CREATED, managedFields=entries)
    assert was_made_by_others(space) is answer
