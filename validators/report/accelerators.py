"""GPUs and other accelerators: how many of each kind pods can get, and how many they have requested or are given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import Object, has_ended
from kubeflow_volcano.cluster.pods.quantities import amounts, pod_requests
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.safe import text
from kubeflow_volcano.validators.explain.placement.dynamic_resources import device_class, devices_in, in_use
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES, SLICES

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


def of_drivers(objects: Mapping[str, tuple[Object, ...]], simulated: Collection[str]) -> list[dict[str, Any]]:
    """A row for each driver of devices that ResourceClaims give to pods; its model are the DeviceClasses of the driver.

    Which of a driver's devices are of which class, CEL expressions decide, so that they are counted by driver.
    """
    nodes = devices_in(objects.get(SLICES, ())).nodes
    has = Counter(driver for driver, _, _ in nodes)
    given = Counter(driver for driver, _, _ in in_use(objects.get(CLAIMS, ())))
    where = {driver: {node for device, node in nodes.items() if device[0] == driver and node} for driver in has}
    classes = [(str(item["metadata"]["name"]), device_class(item).driver) for item in objects.get(CLASSES, ())]
    return [
        {
            "resource": text(f"devices of {driver}"),
            "model": text(few(sorted(name for name, of in classes if of == driver)) if classes else ""),
            "nodes": len(where[driver]),
            "simulated": len(where[driver].intersection(simulated)),
            "allocatable": has[driver],
            "requested": given[driver],
        }
        for driver in sorted(has)
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
