"""A pipeline step that launches a gang: the Workflow is only a manifest, the job that the step creates is real.

Kubeflow Pipelines runs pipelines as Argo Workflows. A step of type `resource` creates an object with the rights of the
Workflow's ServiceAccount, and waits until the object's status reports success or failure. No Argo controller runs the
Workflow here. Tests validate it against Argo's schema, and an API server with the Workflow definition of Argo 3.7.3
accepted it in a strict dry run. The actions of the step are real: a SubjectAccessReview checks the rights of the
ServiceAccount, a strict dry run admits the job, and the job is created and becomes a gang.

Without its Role the ServiceAccount may not create the job. `default-editor` in the namespace of a Kubeflow profile
(kubeflow-edit) and `pipeline-runner` in a standalone Pipelines may: name that ServiceAccount in the Workflow and omit
the other objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import yaml

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.gang_demo.jobs.gangs import Gang
from kubeflow_volcano.gang_demo.jobs.jobs import job
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.stand import BY_OPERATORS, Case, Stand
from kubeflow_volcano.gang_demo.scenarios.job_kinds import JOBS, size_of

_NODES = Nodes(3, 4)
_NAME = "gang-training"
_KIND = "PyTorchJob"
_RBAC = "rbac.authorization.k8s.io"
_HEADS = ("THE SERVICE ACCOUNT MAY", "ANSWER")
_HOLD_SECONDS = 1.0
_RIGHTS_SECONDS, _RETRY_SECONDS = 10.0, 0.2

_RULES: Sequence[Mapping[str, Sequence[str]]] = (
    {"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"], "verbs": ["create", "get"]},
    {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
)
"""Rights of the step: create and read the job, and report the result to Argo (the minimum of its executor)."""

_FOREIGN = ({"group": "", "resource": "secrets", "verb": "get"}, {"group": "", "resource": "pods", "verb": "create"})
"""Rights that the step must not have."""


def _launched(namespace: str, name: str = _NAME) -> Object:
    """The job that the step creates: a PyTorchJob of three pods that need a whole node each."""
    return job(_KIND, name, namespace, JOBS[_KIND])


def workflow(namespace: str) -> Object:
    """The Workflow, whose only step creates the job with the Workflow's name and waits for its end.

    Conditions are label selectors over paths of the job's status; the failure condition is met if any of its parts is.
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
    """The ServiceAccount of the Workflow, and its rights."""
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
    """The ServiceAccount, its Role unless not `allowed`, and the Workflow."""
    return *rights(namespace)[: None if allowed else 1], workflow(namespace)


def _run(stand: Stand, *, allowed: bool) -> Outcome:
    namespace = stand.namespace()
    *account, flow = manifest(namespace, allowed=allowed)
    stand.create(*account)
    wanted = [
        {"group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": verb}
        for rule in _RULES
        for verb in rule["verbs"]
    ]
    expected = {_title(act): allowed for act in wanted} | {_title(act): False for act in _FOREIGN}
    answers: dict[str, bool] = {}
    wrong: list[str] = []
    # The moment from which the API server applies a new Role cannot be watched.
    for _ in Deadline(_RIGHTS_SECONDS, stand.deadline).every(_RETRY_SECONDS):
        answers = {_title(act): _may(stand, namespace, act) for act in (*wanted, *_FOREIGN)}
        wrong = [act for act, answer in answers.items() if answer != expected[act]]
        if not wrong:
            break
    rows = [(act, "yes" if answer else "no") for act, answer in answers.items()]
    problem = f"unexpected answer: {', '.join(wrong)}" if wrong else ""
    if problem or not allowed:
        return stand.outcome(None, problem, heads=_HEADS, rows=rows)
    made = _created_by(flow)
    _admit_strictly(stand, made)
    size = size_of(_KIND)
    with stand.watching(namespace) as history:
        gang = Gang.of_all(history, made["metadata"]["name"], size)
        stand.create(made)
        problem = stand.settle(history, gang.is_whole, partial(gang.find_contradiction, size), _HOLD_SECONDS)
        return stand.outcome(history, problem, heads=_HEADS, rows=rows)


def _title(act: Mapping[str, str]) -> str:
    return f"{act['verb']} {act['resource']}"


def _may(stand: Stand, namespace: str, act: Mapping[str, str]) -> bool:
    """Whether the ServiceAccount may do this in its namespace."""
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


def _created_by(flow: Object) -> Object:
    """The job as Argo would create it: the manifest of the step with the name of the Workflow."""
    text = flow["spec"]["templates"][0]["resource"]["manifest"]
    workflow: Object = read_yaml(text.replace("{{workflow.name}}", flow["metadata"]["name"]))
    return workflow


def _admit_strictly(stand: Stand, obj: Object) -> None:
    """Create the job in a dry run with strict field validation.

    Raises:
        ApiError: the API server refuses it.
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
        schedulers=BY_OPERATORS,
    )


CASES = (
    _case("pipelines-refused", "a step without the right to launch a job", allowed=False),
    _case("pipelines-gang", "a step that launches a gang", allowed=True),
)
