"""Pod templates of workloads, wherever they are."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from kubeflow_volcano.apply.graph import WORKLOAD_KINDS
from kubeflow_volcano.apply.rights import pod_template
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_yaml

HELPER_POD = "helperPod.yaml"
"""Key of the ConfigMap of local-path with the pod that prepares and removes the directory of a volume."""


def pod_spec(obj: Object) -> Object | None:
    """The spec of the pods that a workload creates, to be changed; None for what creates none."""
    if obj["kind"] not in WORKLOAD_KINDS:
        return None
    spec: Object = obj["spec"] if obj["kind"] == "Pod" else pod_template(obj)["spec"]
    return spec


def is_helper(obj: Object) -> bool:
    """Whether it is the ConfigMap with the helper pod of local-path."""
    return obj["kind"] == "ConfigMap" and HELPER_POD in (obj.get("data") or {})


def with_helper(obj: Object) -> Iterator[Object]:
    """The spec of the helper pod, which is written back into its ConfigMap afterwards, if it was changed."""
    text = obj["data"][HELPER_POD]
    pod = read_yaml(text)
    before = yaml.safe_dump(pod, sort_keys=False)
    yield pod["spec"]
    after = yaml.safe_dump(pod, sort_keys=False)
    if after != before:
        obj["data"][HELPER_POD] = after
