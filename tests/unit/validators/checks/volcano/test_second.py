"""F1 on clusters with a second Volcano."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.volcano import second, volcano
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from tests.samples.facts import deployment, facts, obj

PROGRAMS = {"scheduler": "vc-scheduler", "controllers": "vc-controller-manager", "admission": "vc-webhook-manager"}
WORKLOADS = tuple(f"volcano Deployment volcano-system/volcano-{part}" for part in PROGRAMS)


def part(name: str, namespace: str = "volcano-system", *args: str, available: int = 1, **container: Any) -> Object:
    """One of Volcano's Deployments as upstream's manifests have them: no leader is elected."""
    words = [*args] or ([] if name == "admission" else ["--leader-elect=false"])
    image = f"registry.example/mirror/volcanosh/{PROGRAMS[name]}:v1.10.0"
    found = {"name": name, "image": image, "args": words, **container}
    return deployment(f"{namespace}/volcano-{name}", available=available, containers=[found])


OWN = tuple(map(part, PROGRAMS))


def known(*others: Object, may: bool | None = True, own: tuple[Object, ...] = OWN, **more: Any) -> Facts:
    """Facts with the release's Volcano and these; `may`: whether their accounts have rights, None where unknown."""
    rights = Unread("Forbidden", "no.", "") if may is None else dict.fromkeys(map(Ref.of, others), may)
    return facts(*own, *others, workloads=WORKLOADS, known={second.RIGHTS: rights}, **more)


def judged(*others: Object, **more: Any) -> Outcome:
    return volcano.components(known(*others, **more))


def reasons(outcome: Outcome) -> set[str]:
    return set(outcome.observed.values()) if outcome.status is not Status.PASS else set()


def test_two_schedulers_at_work_for_the_same_pods_fail() -> None:
    outcome = judged(part("scheduler", "volcano"), part("controllers", "volcano"), part("admission", "volcano"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "SecondScheduler")
    assert [str(item) for item in outcome.objects] == ["Deployment volcano/volcano-scheduler"]
    assert outcome.changes == ("kubectl -n volcano scale deployment volcano-scheduler --replicas=0",)


def test_one_that_is_in_the_same_namespace_by_another_name_fails() -> None:
    twin = part("scheduler")
    twin["metadata"]["name"] = "volcano-scheduler-2"
    assert judged(twin).reason == "SecondScheduler"


def test_leftovers_without_rights_are_a_warning() -> None:
    """What the adoption of a Volcano in another namespace once left: bindings and webhooks are the release's."""
    left = [part(name, "volcano") for name in PROGRAMS]
    outcome = judged(*left, may=False)
    assert outcome.status is Status.WARN
    assert outcome.observed == {
        "Deployment volcano/volcano-scheduler": "WithoutRights",
        "Deployment volcano/volcano-controllers": "WithoutRights",
        "Deployment volcano/volcano-admission": "UnusedAdmission",
    }
    assert len(outcome.changes) == 3


def test_second_controllers_are_a_warning() -> None:
    outcome = judged(part("controllers", "volcano"))
    assert (outcome.status, reasons(outcome)) == (Status.WARN, {"SecondControllers"})


@pytest.mark.parametrize("own", [("--leader-elect=true",), ("--v=3",)])
def test_one_that_waits_for_the_others_lease_is_a_warning(own: tuple[str, ...]) -> None:
    """The Lease of Volcano is in volcano-system, wherever it runs."""
    ours = (part("scheduler", "volcano-system", *own), *OWN[1:])
    outcome = judged(part("scheduler", "volcano", "--leader-elect"), own=ours)
    assert (outcome.status, reasons(outcome)) == (Status.WARN, {"OneOfTwo"})
    assert "Lease volcano-system/volcano" in outcome.message
    apart = part("scheduler", "volcano", "--leader-elect", "--lock-object-namespace=volcano")
    assert judged(apart, own=ours).reason == "SecondScheduler"


def test_what_is_not_known_or_not_running_is_no_failure() -> None:
    unknown = judged(part("scheduler", "volcano"), may=None)
    assert (unknown.status, reasons(unknown)) == (Status.WARN, {"SecondScheduler"})
    assert "not known" in unknown.message
    assert judged(part("scheduler", "volcano", available=0)).status is Status.WARN


def sharing(number: int) -> Object:
    return part("scheduler", f"volcano-{number}", env=[{"name": "MULTI_SCHEDULER_ENABLE", "value": "true"}])


def test_schedulers_that_are_meant_to_run_side_by_side_pass() -> None:
    """For pods of other names, or with the pods shared by hashes; what is scaled to 0 does nothing."""
    off = part("scheduler", "former")
    off["spec"]["replicas"] = 0
    assert judged(part("scheduler", "gpu", "--scheduler-name=gpu"), off).status is Status.PASS
    ours = sharing(0)
    ours["metadata"] |= {"namespace": "volcano-system"}
    assert judged(sharing(1), own=(ours, *OWN[1:])).status is Status.PASS
    assert judged(sharing(1)).reason == "SecondScheduler"


def test_a_sidecar_with_a_script_of_its_own_is_no_second_one() -> None:
    """As this project's notifier beside an old training operator."""
    assert judged(part("admission", "kubeflow", command=["sh", "-c", "true"])).status is Status.PASS


def test_without_the_releases_own_it_is_the_only_one() -> None:
    """What is missing is said; which of two is the second is not guessed."""
    outcome = judged(part("scheduler", "volcano"), own=OWN[1:])
    assert reasons(outcome) == {"Missing"}


def called(name: str, namespace: str) -> tuple[Object, Object]:
    """A webhook configuration and its Service, whose pods are those of the admission there."""
    client = {"service": {"namespace": namespace, "name": "volcano-admission-service"}}
    selector = {"app": "volcano-admission"}
    return (
        obj("ValidatingWebhookConfiguration", name, webhooks=[{"name": "jobs.volcano.sh", "clientConfig": client}]),
        obj("Service", f"{namespace}/volcano-admission-service", spec={"selector": selector}),
    )


def test_a_second_admission_that_is_called_goes_after_its_webhooks() -> None:
    outcome = judged(part("admission", "volcano"), *called("of-others", "volcano"))
    assert (outcome.status, reasons(outcome)) == (Status.WARN, {"SecondAdmission"})
    assert outcome.changes == (
        "kubectl delete validatingwebhookconfiguration of-others",
        "kubectl -n volcano scale deployment volcano-admission --replicas=0",
    )


def test_an_admission_that_answers_the_releases_webhooks_is_not_to_go() -> None:
    name = "volcano-admission-service-jobs-validate"
    own = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", name)
    ours = known(part("admission", "volcano"), *called(name, "volcano"))
    outcome = volcano.components(replace(ours, expectations=replace(ours.expectations, webhooks={own: "volcano"})))
    assert (reasons(outcome), outcome.changes) == ({"SecondAdmission"}, ())
