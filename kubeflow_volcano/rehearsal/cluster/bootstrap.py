"""What a running API server needs before the cluster is one: its own objects, and a webhook that answers."""

from __future__ import annotations

import base64
import importlib.resources
import time
from pathlib import Path

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.inside.placement import GPU, SIMULATED_LABEL
from kubeflow_volcano.rehearsal.node.network import POD_RANGE

__all__ = ["apply_addons", "assign_pod_range", "wait_for_placement"]

_MANAGER = "kubeflow-volcano-rehearsal"
_ANSWER_SECONDS = 60.0
_RETRY_SECONDS = 0.1
_TRIAL_POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "rehearsal-placement-trial", "namespace": "default"},
    "spec": {"containers": [{"name": "any", "image": "any", "resources": {"limits": {GPU: "1"}}}]},
}


def apply_addons(cluster: Cluster, authority: Path) -> tuple[str, ...]:
    """Apply the cluster's own objects; returns those that were not as they should be.

    `authority` is the certificate that signed the placement webhook's.
    """
    resources = importlib.resources.files("kubeflow_volcano.rehearsal") / "addons"
    bundle = base64.b64encode(authority.read_bytes()).decode()
    changed = []
    for name in ("control-plane.yaml", "cluster-dns.yaml"):
        for obj in yaml.safe_load_all((resources / name).read_text()):
            for webhook in obj.get("webhooks", ()):
                webhook["clientConfig"]["caBundle"] = bundle
            ref = Ref.of(obj)
            before = cluster.get(ref)
            after = cluster.apply(obj, manager=_MANAGER, force=True)
            if before is None or _content(before) != _content(after):
                changed.append(f"{ref} {'changed' if before else 'created'}")
    return tuple(changed)


def _content(obj: Object) -> Object:
    """The object without its version: of one that declares nothing, 1.22 notes only later who had made it."""
    kept = {key: value for key, value in obj["metadata"].items() if key not in {"managedFields", "resourceVersion"}}
    return {**obj, "metadata": kept}


def assign_pod_range(cluster: Cluster, node_name: str) -> tuple[str, ...]:
    """Give the real node its range of pod addresses, once; kubelet and containerd read it from the Node."""
    ref = Ref("v1", "Node", "", node_name)
    node = cluster.get(ref)
    if node is None or node["spec"].get("podCIDR"):
        return ()
    first = str(next(POD_RANGE.subnets(new_prefix=24)))
    cluster.patch(ref, {"spec": {"podCIDR": first, "podCIDRs": [first]}})
    return (f"node {node_name} got the pod range {first}",)


def wait_for_placement(cluster: Cluster, *, patience: float, progress: Progress) -> None:
    """See by a dry run that the placement webhook answers the API server.

    Something else in the cluster may refuse the pod, such as another webhook whose backend is away. That is told after
    `patience` seconds, and is not this cluster's failure.

    Raises:
        ProblemsError: pods come back unchanged.
    """
    deadline = Deadline(_ANSWER_SECONDS)
    refusals = Deadline(patience)
    while not deadline.passed:
        try:
            pod = cluster.create(_TRIAL_POD, dry_run=True, deadline=Deadline(1))
            if SIMULATED_LABEL in pod["metadata"].get("labels", {}):
                return
        except ApiError as error:
            if refusals.passed:
                progress(f"pods are refused for now: {error}")
                return
        time.sleep(_RETRY_SECONDS)
    raise ProblemsError(
        Problem(
            "the placement webhook does not answer the API server: pods come back unchanged.",
            "pods that ask for a GPU are sent to simulated nodes.",
            "read `python -m kubeflow_volcano.rehearsal logs placement`.",
        )
    )
