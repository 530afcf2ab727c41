"""GPUs and other accelerators of nodes: how many of each kind pods can get, and how many they have requested."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import Object, has_ended
from kubeflow_volcano.cluster.pods.quantities import amounts, pod_requests
from kubeflow_volcano.validators.core.safe import text

# Extended resources of the device plugins of NVIDIA (gpu, mig-1g.5gb), AMD, Intel (gpu.intel.com/i915), Huawei
# (Ascend910, npu), Hygon (dcu), Cambricon (mlu), Google (tpu) and Habana (gaudi).
_NAME = re.compile(r"/.*(gpu|npu|tpu|dcu|mlu|gaudi|ascend|mig-)|^gpu\.intel\.com/", re.IGNORECASE)
# Set by the GPU feature discovery of NVIDIA and of AMD, and by Huawei's device plugin.
_MODELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "accelerator-type")


def of_node(node: Object, pods: Iterable[Object] | None) -> list[dict[str, Any]]:
    """A row for each kind of accelerator of a node; `pods` are those on it, of which ended ones use nothing.

    Without pods, which were not read, nothing is known of requests.
    """
    labels = node["metadata"].get("labels") or {}
    model = next((labels[name] for name in _MODELS if name in labels), "")
    allocatable = amounts(node.get("status", {}).get("allocatable"))
    requested: Counter[str] = Counter()
    for pod in pods or ():
        if not has_ended(pod):
            requested.update({name: int(amount) for name, amount in pod_requests(pod["spec"]).items()})
    return [
        {
            "resource": text(name),
            "model": text(model),
            "allocatable": int(allocatable.get(name, Decimal())),
            "requested": None if pods is None else requested[name],
        }
        for name in sorted({*allocatable, *requested})
        if _NAME.search(name) and (allocatable.get(name) or requested[name])
    ]


def totals(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sums over rows of nodes, by kind: the resource and the model."""
    totals: dict[tuple[str, str], dict[str, Any]] = {}
    for node in rows:
        for item in node["accelerators"]:
            start = {**item, "nodes": 0, "simulated": 0, "allocatable": 0, "requested": 0}
            kind = totals.setdefault((item["resource"], item["model"]), start)
            kind["nodes"] += 1
            kind["simulated"] += node["simulated"]
            kind["allocatable"] += item["allocatable"]
            known = kind["requested"] is not None and item["requested"] is not None
            kind["requested"] = kind["requested"] + item["requested"] if known else None
    return [totals[kind] for kind in sorted(totals)]
