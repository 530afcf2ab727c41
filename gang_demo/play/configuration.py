"""Wait until Volcano's scheduler has read the configuration of its ConfigMap."""

from __future__ import annotations

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.exec import execute
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress

_NAMESPACE, _LABELS = "volcano-system", "app=volcano-scheduler"
_FLAG = "--scheduler-conf="
_NUDGE = "kfv.io/asked"
"""Annotation that is set and removed again: the kubelet updates the volumes of a changed pod at once, and those of
others every minute."""

_SECONDS, _RETRY_SECONDS, _CAT_SECONDS = 120.0, 0.5, 10.0


def wait_until_read(cluster: Cluster, progress: Progress) -> None:
    """Wait until the file in each scheduler pod equals the ConfigMap; the scheduler watches that file.

    Raises:
        ProblemsError: there is no scheduler, or the file did not change within two minutes.
    """
    deadline = Deadline(_SECONDS)
    pods = [pod for pod in cluster.list("v1", "Pod", namespace=_NAMESPACE, labels=_LABELS).items if _runs(pod)]
    if not pods:
        raise ProblemsError.problem(
            "no pod of Volcano's scheduler is running.",
            "at least one.",
            "run playbooks/install.yml, then try again.",
        )
    for pod in pods:
        progress(f"waiting until {pod['metadata']['name']} has read its configuration")
        _wait(cluster, pod, deadline)


def _runs(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _wait(cluster: Cluster, pod: Object, deadline: Deadline) -> None:
    container, path, wanted = _configured(cluster, pod)
    ref = Ref.of(pod)

    def read() -> str:
        try:
            return execute(cluster, ref.namespace, ref.name, container, ["cat", path], seconds=_CAT_SECONDS).output
        except ApiError as error:
            return str(error)

    if read() == wanted:
        return
    current = ""
    cluster.patch(ref, {"metadata": {"annotations": {_NUDGE: "true"}}})
    try:
        for _ in deadline.every(_RETRY_SECONDS):  # a file in a container cannot be watched
            current = read()
            if current == wanted:
                return
    finally:
        cluster.patch(ref, {"metadata": {"annotations": {_NUDGE: None}}})
    raise ProblemsError.problem(
        f"{path} in {ref} differs from the ConfigMap after {_SECONDS:.0f} s: {current[:200]!r}.",
        "a kubelet that updates ConfigMaps in its pods.",
        f"run `kubectl -n {ref.namespace} describe pod {ref.name}`.",
    )


def _configured(cluster: Cluster, pod: Object) -> tuple[str, str, str]:
    """The scheduler's container, the path of its configuration, and the text that the ConfigMap has for it."""
    container = pod["spec"]["containers"][0]
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    path: str = next((word.removeprefix(_FLAG) for word in words if word.startswith(_FLAG)), "")
    name = next((item["configMap"]["name"] for item in pod["spec"].get("volumes") or () if "configMap" in item), "")
    live = cluster.get(Ref("v1", "ConfigMap", _NAMESPACE, name)) if name else None
    text = ((live or {}).get("data") or {}).get(path.rpartition("/")[2])
    if not path or text is None:
        raise ProblemsError.problem(
            f"the pod {pod['metadata']['name']} reads the file {path!r} and mounts the ConfigMap {name!r}.",
            f"the argument {_FLAG}<file>, and a ConfigMap with this file.",
            "run playbooks/install.yml, then try again.",
        )
    return container["name"], path, text
