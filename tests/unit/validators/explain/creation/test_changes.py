"""What admission makes of a job's pods: who did it, and what follows from it."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.alterations import Alteration, added, changed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.explain.creation.changes import CHANGES, Changed
from kubeflow_volcano.validators.explain.model import Explanation
from kubeflow_volcano.validators.explain.stages import explain
from tests.samples.jobs import SPACE, explained, group, member, tfjob

HOOK = Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "placer")


def changed_to(*, spec: Object, pods: Object | None = None, by: Ref = HOOK, **sent: Any) -> Explanation:
    """The explanation of a gang of two, the template of which admission stores with this spec."""
    job = tfjob()
    template = {**job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"], "schedulerName": "volcano", **sent}
    before: Object = {"metadata": {"name": "kfv-dry-run", "namespace": SPACE}, "spec": template}
    after = copy.deepcopy(before)
    after["spec"] |= spec
    binding = changed(before, after)
    found = Alteration((*binding, *added(before, after)), (by,))
    members = [member(job, number, spec=spec if pods is None else pods) for number in range(2)]
    situation = explained(job, group(job, phase="Inqueue"), *members).situation
    fact = Changed("Worker", before, after, found, bool(binding))
    return explain(
        replace(situation, facts=replace(situation.facts, found={**situation.facts.found, CHANGES: (fact,)}))
    )


@pytest.mark.parametrize(
    ("spec", "follows"),
    [
        ({"nodeSelector": {"pool": "none"}}, "NoNodeFitsSelector"),
        ({"schedulerName": "other"}, "OtherScheduler"),
    ],
)
def test_what_admission_changes_is_the_cause_of_what_follows(spec: Object, follows: str) -> None:
    found = changed_to(spec=spec).findings
    blocking = [item for item in found if item.blocks]
    assert [item.reason for item in blocking] == ["ChangedAtAdmission"]
    assert HOOK in blocking[0].objects
    after = next(item for item in found if item.reason == follows)
    assert "ChangedAtAdmission" in after.problem.todo


def test_containers_limits_and_tolerations_of_others_are_named_and_block_nothing() -> None:
    beside = {"name": "agent", "resources": {"limits": {"cpu": "1"}}}
    own = {"name": "tensorflow", "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}}
    tolerated = [{"key": "gpu", "operator": "Exists"}, {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
    found = changed_to(spec={"containers": [own, beside], "tolerations": tolerated}, pods={}).findings
    told = next(item for item in found if item.reason == "ChangedAtAdmission")
    assert not told.blocks
    for words in ("container agent", "limits memory 1Gi for container tensorflow", "a toleration of gpu"):
        assert words in told.problem.found
    assert "not-ready" not in told.problem.found


def test_a_selector_that_nodes_match_blocks_nothing() -> None:
    found = changed_to(spec={"nodeSelector": {"kubernetes.io/hostname": "n1"}}).findings
    assert [(item.reason, item.blocks) for item in found if item.reason == "ChangedAtAdmission"] == [
        ("ChangedAtAdmission", False)
    ]


def test_the_webhook_of_a_rehearsal_is_no_news() -> None:
    found = changed_to(spec={"nodeSelector": {"type": "kwok"}}, by=HOOK._replace(name="rehearsal-placement")).findings
    assert "ChangedAtAdmission" not in [item.reason for item in found]


def test_another_queue_is_a_change() -> None:
    sent: Object = {"metadata": {"annotations": {"volcano.sh/queue-name": "own"}}, "spec": {"containers": []}}
    stored = {**sent, "metadata": {"annotations": {"volcano.sh/queue-name": "theirs"}}}
    (text,) = added(sent, stored)
    assert re.fullmatch("queue theirs .* own", text)


MADE, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"


def managed(obj: Object, manager: str, **spec: Any) -> Object:
    """The object with fields of its spec that another manager than its creator wrote later."""
    entries = [
        {"manager": "kubectl", "time": MADE, "fieldsV1": {"f:metadata": {"f:labels": {}}}},
        {"manager": manager, "time": LATER, "fieldsV1": {"f:spec": {f"f:{name}": {} for name in spec}}},
    ]
    meta = obj["metadata"] | {"creationTimestamp": MADE, "managedFields": entries}
    return {**obj, "metadata": meta, "spec": {**obj["spec"], **spec}}


def test_who_changed_the_job_its_podgroup_or_pods_since_their_creation_is_named_and_blocks_nothing() -> None:
    job = tfjob()
    pods = [managed(member(job, number), "pool-controller", nodeSelector={}) for number in range(2)]
    held = managed(job, "kueue", suspend=False)
    found = [
        item
        for item in explained(held, managed(group(job, phase="Inqueue"), "sizer", minMember=2), *pods).findings
        if item.reason == "ChangedSinceCreation"
    ]
    assert [len(item.objects) for item in found] == [1, 1, 2]
    assert not any(item.blocks for item in found)
    for item, words in zip(found, ("spec.suspend (false)", "spec.minMember (2)", "spec.nodeSelector"), strict=True):
        assert words in item.problem.found
        assert LATER in item.problem.found


def test_a_job_that_only_its_creator_wrote_is_told_nothing_of() -> None:
    job = tfjob()
    found = explained(managed(job, "kubectl", suspend=False), group(job, phase="Inqueue")).findings
    assert "ChangedSinceCreation" not in {item.reason for item in found}
