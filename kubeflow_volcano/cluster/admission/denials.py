"""Whether a policy that denied an object denies ordinary ones as well, by a dry run in other namespaces."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref, pod_specs
from kubeflow_volcano.deadline import Deadline

_GROUP = "admissionregistration.k8s.io/v1"
# How the API server words a denial (apiserver, admission/plugin/policy/validating and webhook/errors;
# pod-security-admission; plugin/pkg/admission/resourcequota).
_DENIERS = (
    (re.compile(r"ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied"), "ValidatingAdmissionPolicy"),
    (re.compile(r'admission webhook "([^"]+)" denied the request'), "Webhook"),
    (re.compile(r'violates PodSecurity "([^":]+)'), "PodSecurity"),
    (re.compile(r"(?:exceeded|failed) quota: ([^,:]+)"), "ResourceQuota"),
)
WEBHOOKS = (
    "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o 'custom-columns="
    "NAME:.metadata.name,WEBHOOKS:.webhooks[*].name,SERVICES:.webhooks[*].clientConfig.service' | grep -F {}"
)
"""Command that shows the configuration and the Service of a webhook."""
_LOOK = {
    "ValidatingAdmissionPolicy": "kubectl get validatingadmissionpolicy {} -o yaml",
    "Webhook": WEBHOOKS,
    "PodSecurity": "kubectl get namespaces --show-labels",
    "ResourceQuota": "kubectl get resourcequotas -A",
}
_BY_NAMESPACE = frozenset({"PodSecurity", "ResourceQuota"})
"""Kinds that each namespace has its own of, so that their names differ."""
_SYSTEM = ("kube-", "openshift-")
_PROFILE = "kubeflow-profile"
_MOST, _SECONDS = 4, 10.0


def denier(text: str) -> Ref | None:
    """The policy, quota or webhook that denied an object, by the API server's message; None for other refusals."""
    matches = ((pattern.search(text), kind) for pattern, kind in _DENIERS)
    return next((Ref(_GROUP, kind, "", match[1]) for match, kind in matches if match), None)


def look_at(policy: Ref) -> str:
    """The command that shows what `denier` found."""
    return _LOOK[policy.kind].format(policy.name)


def denied_elsewhere(cluster: Cluster, obj: Object, text: str) -> tuple[str, ...]:
    """Ordinary namespaces that deny the same object for the same reason, where that concerns more than this object.

    Empty if one of them admits it, if no namespace could be tried, and for what only a privileged user may create. Also
    empty where pods that run there would be admitted again: they comply with a policy, such as a label that it
    requires, and this object does not. A pod that is admitted without its scheduler complies in all else.
    """
    wanted = denier(text)
    # Volcano's own webhooks deny a pod whose group is in another namespace.
    if wanted is None or wanted.name.endswith("volcano.sh") or not obj["metadata"].get("namespace"):
        return ()
    if not all(map(_is_ordinary, pod_specs(obj))):
        return ()
    deadline, denied = Deadline(_SECONDS), []
    try:
        for name in list(_ordinary(cluster, obj["metadata"]["namespace"]))[:_MOST]:
            if not _same(_denied_in(cluster, obj, name, deadline), wanted):
                return ()
            denied.append(name)
        concerned = any(_concerns_others(cluster, obj, name, wanted, deadline) for name in denied)
    except ApiError:
        return ()
    return tuple(denied) if concerned else ()


def _concerns_others(cluster: Cluster, obj: Object, namespace: str, wanted: Ref, deadline: Deadline) -> bool:
    if obj["kind"] == "Pod" and "schedulerName" in obj["spec"]:
        plain = obj | {"spec": {key: value for key, value in obj["spec"].items() if key != "schedulerName"}}
        plain["metadata"] = {"name": obj["metadata"]["name"]}
        if not _denied_in(cluster, plain, namespace, deadline):
            return True
    for pod in cluster.list("v1", "Pod", namespace=namespace).items[:1]:
        kept = {key: value for key, value in pod["metadata"].items() if key in {"labels", "annotations"}}
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        again = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "again", **kept}, "spec": spec}
        if _same(_denied_in(cluster, again, namespace, deadline), wanted):
            return True
    return False


def _denied_in(cluster: Cluster, obj: Object, namespace: str, deadline: Deadline) -> str:
    """Why the namespace does not admit the object without what marks it as a probe's; empty if it does."""
    plain = copy.deepcopy(obj)
    meta = plain["metadata"]
    meta["namespace"] = namespace
    meta["labels"] = {key: value for key, value in (meta.get("labels") or {}).items() if key != RUN_LABEL}
    try:
        cluster.create(plain, dry_run=True, deadline=deadline)
    except ApiError as error:
        if error.transient:
            raise
        return error.message
    return ""


def _same(text: str, wanted: Ref) -> bool:
    denied_by = denier(text)
    return denied_by is not None and (
        denied_by == wanted or (denied_by.kind == wanted.kind and denied_by.kind in _BY_NAMESPACE)
    )


def _ordinary(cluster: Cluster, own: str) -> Iterator[str]:
    """Namespaces of users, those of profiles first."""
    spaces = [
        item["metadata"]
        for item in cluster.list("v1", "Namespace").items
        if RUN_LABEL not in (item["metadata"].get("labels") or {}) and "deletionTimestamp" not in item["metadata"]
    ]
    names = [meta for meta in spaces if meta["name"] != own and not meta["name"].startswith(_SYSTEM)]
    names.sort(key=lambda meta: ((meta.get("labels") or {}).get("app.kubernetes.io/part-of") != _PROFILE, meta["name"]))
    return (meta["name"] for meta in names)


def _is_ordinary(spec: Object) -> bool:
    """Whether the pod is within the restricted Pod Security level, as far as probes differ."""
    plain = not any("hostPath" in volume for volume in spec.get("volumes") or ()) and not spec.get("hostNetwork")
    contexts = [spec.get("securityContext") or {}, *(item.get("securityContext") or {} for item in spec["containers"])]
    return plain and any(item.get("runAsNonRoot") for item in contexts)
