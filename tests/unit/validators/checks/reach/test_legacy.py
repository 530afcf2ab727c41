"""A10 on literal facts: each old tool is recognised, and the way off it is told."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.reach.legacy import no_legacy
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import crd, deployment, facts, obj, pod


def labelled(kind: str, name: str, **meta: Any) -> Object:
    return obj(kind, name, metadata=meta, spec={})


def test_a_cluster_of_today_has_nothing_of_them() -> None:
    outcome = no_legacy(
        facts(crd("podgroups.scheduling.volcano.sh"), deployment("kubeflow/training-operator"), pod("a/b"))
    )
    assert outcome.status is Status.PASS
    assert len(outcome.objects) == 2


@pytest.mark.parametrize(
    ("left", "reason", "way"),
    [
        (crd("podgroups.scheduling.incubator.k8s.io", versions=["v1alpha1"]), "KubeBatch", "schedulerName volcano"),
        (crd("queues.scheduling.sigs.dev", versions=["v1alpha2"]), "KubeBatch", "then its CRDs"),
        (
            deployment("kube-system/scheduler", containers=[{"name": "a", "image": "kubesigs/kube-batch:v0.5"}]),
            "KubeBatch",
            "removes its Deployment",
        ),
        (pod("user/job", spec={"schedulerName": "kube-batch", "containers": []}), "KubeBatch", "G1"),
        (obj("KfDef", "kubeflow/kf"), "KfDef", "Stop that operator first"),
        (crd("kfdefs.kfdef.apps.kubeflow.org"), "KfDef", "Stop that operator first"),
        (
            labelled("Service", "kubeflow/a", annotations={"kfctl.kubeflow.io/kfdef-instance": "kf.kubeflow"}),
            "KfDef",
            "plan.yml",
        ),
        (
            labelled("Service", "kubeflow/a", labels={"ksonnet.io/component": "argo"}),
            "Ksonnet",
            "uninstall_legacy: [ksonnet]",
        ),
        (
            labelled("Namespace", "old", annotations={"ksonnet.io/managed": "{}"}),
            "Ksonnet",
            "Install the component of a release",
        ),
        (
            labelled("Namespace", "old", labels={"app.kubernetes.io/deploy-manager": "ksonnet"}),
            "Ksonnet",
            "Install the component of a release",
        ),
        (deployment("kubeflow/pytorch-operator"), "SingleOperator", "the training operator replaces it"),
    ],
)
def test_what_is_left_is_a_warning_that_says_the_way_off(left: Object, reason: str, way: str) -> None:
    outcome = no_legacy(facts(left))
    assert (outcome.status, outcome.reason) == (Status.WARN, reason)
    assert way in outcome.todo
    assert [item.name for item in outcome.objects] == [left["metadata"]["name"]]


def test_two_operators_that_act_on_one_job_fail_and_come_before_the_rest() -> None:
    both = (deployment("kubeflow/tf-job-operator"), deployment("kubeflow/training-operator"))
    outcome = no_legacy(facts(*both, crd("podgroups.scheduling.sigs.dev")))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "TwoOperators")
    stopped = deployment("kubeflow/tf-job-operator", replicas=0)
    assert no_legacy(facts(stopped, both[1])).reason == "SingleOperator"


def test_other_deploy_managers_and_pods_that_have_ended_are_nothing_old() -> None:
    ended = pod("user/job", spec={"schedulerName": "kube-batch", "containers": []}, status={"phase": "Succeeded"})
    other = labelled("Namespace", "new", labels={"app.kubernetes.io/deploy-manager": "wordpress-operator"})
    assert no_legacy(facts(ended, other)).status is Status.PASS
