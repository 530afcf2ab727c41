"""A step of a pipeline that launches a gang: on paper as a Workflow, for real as the job that the step creates.

Kubeflow Pipelines runs pipelines as Workflows of Argo. A step of the kind `resource` creates an object with the rights
of the Workflow's ServiceAccount, and waits until its status says that it has succeeded or failed. The Workflow is on
paper: no controller of Argo runs it here. Tests hold it against Argo's schema, and an API server that serves Workflows
as Argo 3.7.3 defines them took it in a strict dry run. What the step does is done for real: the API server is asked
whether the ServiceAccount may do it, the job's text is admitted as strictly as the server can, and the job is created
and becomes a gang.

Without its Role the ServiceAccount may not create the job. In the namespace of a Kubeflow profile `default-editor` may
already (kubeflow-edit), in a standalone Pipelines `pipeline-runner`: name that one in the Workflow and leave out the
other objects.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import yaml

from gang_demo.case import Case
from gang_demo.jobs.gangs import Gang
from gang_demo.jobs.jobs import job
from gang_demo.model import Nodes, Outcome
from gang_demo.play.stand import Stand
from gang_demo.scenarios.job_kinds import JOBS, size_of
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline

__all__ = ["CASES", "manifest", "rights", "workflow"]

_NODES = Nodes(3, 4)
_NAME = "gang-training"
_KIND = "PyTorchJob"
_RBAC = "rbac.authorization.k8s.io"
_HEADS = ("THE SERVICE ACCOUNT MAY", "ANSWER")
_HOLD_SECONDS = 1.0
_RIGHTS_SECONDS, _AGAIN_SECONDS = 10.0, 0.2

_RULES: Sequence[Mapping[str, Sequence[str]]] = (
    {"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"], "verbs": ["create", "get"]},
    {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
)
"""What the step does: create the job and read it again, and tell Argo how it ended (its executor's own minimum)."""

_FOREIGN = ({"group": "", "resource": "secrets", "verb": "get"}, {"group": "", "resource": "pods", "verb": "create"})
"""What the step has no business with."""


def _launched(namespace: str, name: str = _NAME) -> Object:
    """The job that the step creates: a PyTorchJob of three pods that need a whole node each."""
    return job(_KIND, name, namespace, JOBS[_KIND])


def workflow(namespace: str) -> Object:
    """The Workflow, whose only step creates the job under the Workflow's own name and waits for its end.

    A condition is a selector of labels over paths of the job's status; a failure is met when any of its parts is.
    """
    status = "status.replicaStatuses"
    step = {
        "action": "create",
        "setOwnerReference": True,
        "successCondition": f"{status}.Master.succeeded == 1",
        "failureCondition": f"{status}.Master.failed > 0, {status}.Worker.failed > 0",
        "manifest": yaml.safe_dump(_launched(namespace, "{{workflow.name}}"), sort_keys=False),
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": _NAME, "namespace": namespace},
        "spec": {
            "entrypoint": "train",
            "serviceAccountName": _NAME,
            "templates": [{"name": "train", "activeDeadlineSeconds": 86400, "resource": step}],
        },
    }


def rights(namespace: str) -> Sequence[Object]:
    """The ServiceAccount of the Workflow, and what it may do."""
    meta = {"name": _NAME, "namespace": namespace}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": _NAME}
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(meta)},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": dict(meta),
            "rules": [{key: list(words) for key, words in rule.items()} for rule in _RULES],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": dict(meta),
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", "name": _NAME, "namespace": namespace}],
        },
    )


def manifest(namespace: str, *, allowed: bool = True) -> Sequence[Object]:
    """The ServiceAccount with its Role, or without it, and the Workflow."""
    return *rights(namespace)[: None if allowed else 1], workflow(namespace)


def _run(stand: Stand, *, allowed: bool) -> Outcome:
    namespace = stand.namespace()
    *account, paper = manifest(namespace, allowed=allowed)
    stand.create(*account)
    wanted = [
        {"group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": verb}
        for rule in _RULES
        for verb in rule["verbs"]
    ]
    expected = {_told(act): allowed for act in wanted} | {_told(act): False for act in _FOREIGN}
    grace = Deadline(_RIGHTS_SECONDS, stand.deadline)
    while True:
        answers = {_told(act): _may(stand, namespace, act) for act in (*wanted, *_FOREIGN)}
        wrong = [act for act, answer in answers.items() if answer != expected[act]]
        if not wrong or grace.passed:
            break
        time.sleep(_AGAIN_SECONDS)  # when the server has learnt of a Role cannot be watched, only asked
    rows = [(act, "yes" if answer else "no") for act, answer in answers.items()]
    problem = f"the answer is not the expected one: {', '.join(wrong)}" if wrong else ""
    if problem or not allowed:
        return stand.outcome(None, problem, heads=_HEADS, rows=rows)
    made = _from_paper(paper)
    _admit_strictly(stand, made)
    size = size_of(_KIND)
    with stand.watching(namespace) as history:
        gang = Gang.of_all(history, made["metadata"]["name"], size)
        stand.create(made)
        problem = stand.settle(history, gang.whole, partial(gang.contradicted, size), _HOLD_SECONDS)
        return stand.outcome(history, problem, heads=_HEADS, rows=rows)


def _told(act: Mapping[str, str]) -> str:
    return f"{act['verb']} {act['resource']}"


def _may(stand: Stand, namespace: str, act: Mapping[str, str]) -> bool:
    """Whether the server would let the ServiceAccount do this in its namespace."""
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    spec: Mapping[str, Any] = {
        "user": f"system:serviceaccount:{namespace}:{_NAME}",
        "groups": groups,
        "resourceAttributes": {**act, "namespace": namespace},
    }
    kind = ("authorization.k8s.io/v1", "SubjectAccessReview")
    asked = {"apiVersion": kind[0], "kind": kind[1], "spec": spec}
    answer = stand.cluster.request("POST", stand.cluster.resource(*kind).path(), body=asked)
    return bool(answer["status"]["allowed"])


def _from_paper(paper: Object) -> Object:
    """The job as Argo would create it: the step's text with the Workflow's name in it."""
    text = paper["spec"]["templates"][0]["resource"]["manifest"]
    found: Object = yaml.safe_load(text.replace("{{workflow.name}}", paper["metadata"]["name"]))
    return found


def _admit_strictly(stand: Stand, obj: Object) -> None:
    """Let the server take the job without keeping it, and refuse every field that it does not know.

    Raises:
        ApiError: it does not take it.
    """
    path = stand.cluster.resource(obj["apiVersion"], obj["kind"]).path(obj["metadata"]["namespace"])
    stand.cluster.request("POST", path, query={"dryRun": "All", "fieldValidation": "Strict"}, body=obj)


def _case(name: str, title: str, *, allowed: bool) -> Case:
    return Case(
        scenario="pipelines",
        name=name,
        title=title,
        control=not allowed,
        wiring="volcano" if allowed else "",
        nodes=_NODES,
        manifest=partial(manifest, allowed=allowed),
        run=partial(_run, allowed=allowed),
    )


CASES = (
    _case("pipelines-refused", "a step without the right to launch a job", allowed=False),
    _case("pipelines-gang", "a step that launches a gang", allowed=True),
)
