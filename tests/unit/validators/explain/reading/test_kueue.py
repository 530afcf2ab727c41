"""Which objects of Kueue are read about a job, in which version, and what is told of those that may not be."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.expectations import SCHEDULER, Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.kinds import KINDS
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.explain.reading.kueue import rules, with_kueue
from kubeflow_volcano.validators.explain.reading.queries import KINDS_READ
from kubeflow_volcano.validators.explain.reading.situation import assemble
from kubeflow_volcano.validators.explain.stages import explain
from tests.samples.facts import NOW
from tests.unit.conftest import Answer, FakeApi
from tests.unit.validators.explain.scheduling.test_kueue import job, local, unquoted, whole, workload

SERVED = (("Workload", True), ("LocalQueue", True), ("ClusterQueue", False), ("AdmissionCheck", False))


def situation(of: Object) -> Situation:
    return assemble(
        KINDS["TFJob"], of, Facts(Expectations(scheduler=SCHEDULER), NOW, objects=dict.fromkeys(KINDS_READ, ()))
    )


def serve(api: FakeApi, version: str, of: Object, *, denied: str = "") -> None:
    root = f"/apis/kueue.x-k8s.io/{version}"
    kinds = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": inside} for kind, inside in SERVED]
    api.on("GET", root, Answer(body={"resources": kinds}))

    def listed(*items: Object) -> Answer:
        return Answer(body={"metadata": {"resourceVersion": "1"}, "items": list(items)})

    refused = Answer(403, body={"kind": "Status", "reason": "Forbidden", "message": "no"})
    answers = {
        f"{root}/namespaces/team-a/workloads": listed(workload(of, unquoted("Pending", "insufficient unused quota"))),
        f"{root}/namespaces/team-a/localqueues": listed(local()),
        f"{root}/clusterqueues/whole": Answer(body={**whole(), "apiVersion": f"kueue.x-k8s.io/{version}"}),
    }
    for path, answer in answers.items():
        api.on("GET", path, refused if denied and denied in path else answer)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_the_version_that_is_served_is_read(api: Any, version: str) -> None:
    of = job()
    serve(api, version, of)
    found = explain(with_kueue(api.connect(), situation(of)))
    assert next(item.reason for item in found.findings) == "KueueQuotaFull"
    assert {ref.api_version for ref in found.findings[0].objects} == {f"kueue.x-k8s.io/{version}"}
    assert found.unread == ()


def test_a_cluster_queue_that_may_not_be_read_is_told(api: Any) -> None:
    of = job()
    serve(api, "v1beta2", of, denied="clusterqueues")
    found = explain(with_kueue(api.connect(), situation(of)))
    assert next(item.reason for item in found.findings) == "KueueQuotaFull"
    assert [item.reason for item in found.unread] == ["Forbidden"]
    assert "get" in found.unread[0].message


def test_nothing_is_asked_about_jobs_that_nothing_points_to_kueue(api: Any) -> None:
    before = situation(job(suspended=False, label=""))
    assert with_kueue(api.connect(), before) is before


def test_without_kueue_a_suspended_job_is_what_it_was(api: Any) -> None:
    of = job(label="")
    found = explain(with_kueue(api.connect(), situation(of)))
    assert [item.reason for item in found.findings] == ["Suspended"]
    assert found.unread == ()


def test_the_rights_are_what_is_read() -> None:
    assert {(rule.verb, rule.resource, rule.namespace) for rule in rules("team-a")} == {
        ("list", "workloads", "team-a"),
        ("list", "localqueues", "team-a"),
        ("get", "clusterqueues", ""),
        ("get", "admissionchecks", ""),
    }
