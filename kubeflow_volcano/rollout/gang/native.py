"""Who makes the PodGroups of Kubernetes itself, and which jobs can name one in their pods. Pure.

Sources: training-operator v1.9.4 (pkg/controller.v1/control/podgroup_control.go), Trainer v2.2.0
(pkg/runtime/framework/plugins), Kubernetes v1.37.2 (pkg/controller/job/job_scheduling_manager.go). An operator passes
on the pod template that its CRD keeps: the API server drops fields that the schema does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.objects import Object, mappings_in
from kubeflow_volcano.rollout.gang.wiring import OPERATORS

OF_JOBS = (
    "Jobs of batch/v1 get a PodGroup of their own with the feature gate WorkloadWithJob and "
    "spec.scheduling.schedulingPolicy.gang; without the gate, make the PodGroup beside the Job and name it in "
    f"spec.template.{'.'.join(KUBERNETES.mark)}"
)


def makers(parts: Mapping[str, Sequence[Object]]) -> Iterator[str]:
    """For each operator to install whether it makes PodGroups and whether pods of its jobs can name one; then Jobs'."""
    for name in OPERATORS:
        if name not in parts:
            continue
        kinds = [obj["spec"]["names"]["kind"] for obj in parts[name] if _keeps_group(obj)]
        field = ".".join(KUBERNETES.mark)
        can = f"make it beside the job, and name it in {field} of the pod templates of {', '.join(sorted(kinds))}"
        cannot = "its CRDs have no field in which pods name one either, so that its jobs are scheduled pod by pod"
        yield f"{name} makes no PodGroup of {KUBERNETES.api_version}: {can if kinds else cannot}"
    yield OF_JOBS


def _keeps_group(obj: Object) -> bool:
    schemas = mappings_in(obj["spec"].get("versions")) if obj["kind"] == "CustomResourceDefinition" else ()
    return any(KUBERNETES.mark[1] in item for item in schemas)
