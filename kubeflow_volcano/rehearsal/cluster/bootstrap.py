"""What makes a running API server a usable cluster: its own objects, and a placement webhook that answers."""

from __future__ import annotations

import base64
import importlib.resources
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.foreign import read_yamls
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.inside.placement import SIMULATED_LABEL
from kubeflow_volcano.rehearsal.node.network import POD_RANGE
from kubeflow_volcano.rehearsal.spec import GPU

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
    """Apply the cluster's own objects; returns those that were created or changed, as text.

    `authority` is the file of the certificate that signed the placement webhook's.
    """
    resources = importlib.resources.files("kubeflow_volcano.rehearsal") / "addons"
    bundle = base64.b64encode(authority.read_bytes()).decode()
    changed = []
    for name in ("control-plane.yaml", "cluster-dns.yaml"):
        for obj in read_yamls((resources / name).read_text()):
            for webhook in obj.get("webhooks", ()):
                webhook["clientConfig"]["caBundle"] = bundle
            ref = Ref.of(obj)
            before = cluster.get(ref)
            after = cluster.apply(obj, manager=_MANAGER, force=True)
            if before is None or _content(before) != _content(after):
                changed.append(f"{ref} {'changed' if before else 'created'}")
    return tuple(changed)


def _content(obj: Object) -> Object:
    """The object without its version: Kubernetes 1.22 records the manager of an object without fields only later."""
    kept = {key: value for key, value in obj["metadata"].items() if key not in {"managedFields", "resourceVersion"}}
    return {**obj, "metadata": kept}


def assign_pod_range(cluster: Cluster, node_name: str) -> tuple[str, ...]:
    """Set the pod range of the real node unless it has one; kubelet and containerd read it from the Node."""
    ref = Ref("v1", "Node", "", node_name)
    node = cluster.get(ref)
    if node is None or node["spec"].get("podCIDR"):
        return ()
    first = str(next(POD_RANGE.subnets(new_prefix=24)))
    cluster.patch(ref, {"spec": {"podCIDR": first, "podCIDRs": [first]}})
    return (f"node {node_name} got the pod range {first}",)


def wait_for_placement(cluster: Cluster, *, patience: float, progress: Progress) -> None:
    """Wait until the placement webhook answers the API server, by creating a pod in a dry run.

    Something else in the cluster may refuse the pod, such as another webhook whose backend is down. After `patience`
    seconds that is reported and no error.

    Raises:
        ProblemsError: the API server returns pods unchanged.
    """
    for elapsed in Deadline(_ANSWER_SECONDS).every(_RETRY_SECONDS):
        try:
            pod = cluster.create(_TRIAL_POD, dry_run=True, deadline=Deadline(1))
            if SIMULATED_LABEL in pod["metadata"].get("labels", {}):
                return
        except ApiError as error:
            if elapsed >= patience:
                progress(f"the API server refuses pods for now: {error}")
                return
    raise ProblemsError.problem(
        "the placement webhook does not answer the API server: it returns pods unchanged.",
        "a webhook that sends pods that request a device to simulated nodes.",
        "read `python -m kubeflow_volcano.rehearsal logs placement`.",
    )
