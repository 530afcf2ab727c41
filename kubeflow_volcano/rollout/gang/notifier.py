"""A second container for operators that do not watch PodGroups: it touches a job as soon as its gang may run.

Training operator 1.5 and before looks at a PodGroup only when its job changes (common/pkg/controller.v1/common/job.go
of kubeflow/common v0.4.3). While a gang waits it writes the time into the job's status so as to be called again; a
second look within the same second changes nothing, nobody calls it, and the job gets no pods (kubeflow/trainer#1574).
The container watches PodGroups with kubectl and annotates the job of each that is admitted. It acts as the operator's
own account, which may do that, and its image is that of Volcano's admission, which has kubectl and is there anyway.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from kubeflow_volcano.catalog.operator import era_of, version_of_image
from kubeflow_volcano.catalog.shipped import images_outside
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["ANNOTATION", "CONTAINER", "with_waker"]

CONTAINER = "waker"
ANNOTATION = "kubeflow-volcano/gang-admitted"
"""On a job: when its gang was last seen to be admitted, in seconds since the epoch."""

_ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission"), "admission"

# A watch prints what is there, then every change; it ends now and then, and is begun again. As process 1 the shell
# gets no signal that it has no trap for, and a trap has to wait for what runs in the foreground.
_SCRIPT = f"""\
trap 'exit 0' TERM INT
while true; do
  kubectl get podgroups.scheduling.volcano.sh --all-namespaces --watch --output 'jsonpath={{.metadata.namespace}} \
{{.status.phase}} {{.metadata.ownerReferences[0].apiVersion}} {{.metadata.ownerReferences[0].kind}} \
{{.metadata.ownerReferences[0].name}}{{"\\n"}}' |
  while read -r namespace phase version kind name; do
    case "$phase $version" in
      "Inqueue kubeflow.org/"*)
        kubectl --namespace "$namespace" annotate --overwrite "$kind.kubeflow.org" "$name" \
          {ANNOTATION}="$(date +%s)" </dev/null ;;
    esac
  done &
  wait $!
  sleep 1 &
  wait $!
done
"""


def with_waker(
    objects: Sequence[Object], operator: str, release_version: str, volcano_version: str
) -> tuple[Object, ...]:
    """`objects` with the container beside the one that is named `operator`, where its version needs it; in a copy."""
    return tuple(_woken(obj, volcano_version) if _sleeps(obj, operator, release_version) else obj for obj in objects)


def _sleeps(obj: Object, operator: str, release_version: str) -> bool:
    if obj["kind"] != "Deployment" or obj["metadata"]["name"] != operator:
        return False
    containers = obj["spec"]["template"]["spec"]["containers"]
    images = [item["image"] for item in containers if item["name"] == operator]
    return any(not era_of(version_of_image(image) or release_version).watches_groups for image in images)


def _woken(deployment: Object, volcano_version: str) -> Object:
    found = copy.deepcopy(deployment)
    found["spec"]["template"]["spec"]["containers"].append(_container(volcano_version))
    return found


def _container(volcano_version: str) -> Object:
    return {
        "name": CONTAINER,
        "image": images_outside("volcano", volcano_version)[_ADMISSION],
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _SCRIPT],
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108  kubectl keeps what it learns of the API there
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False},
    }
