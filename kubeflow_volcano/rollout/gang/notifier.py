"""The notifier: a sidecar for operators that do not watch PodGroups, which triggers the reconcile of admitted gangs.

Training operator 1.5 and earlier read a PodGroup only when they reconcile its job (common/pkg/controller.v1/common/
job.go of kubeflow/common v0.4.3). While a gang waits, the operator writes the time into the job's status to trigger the
next reconcile. Two writes within one second are equal and trigger none, so the job never gets pods
(kubeflow/trainer#1574). The sidecar watches PodGroups with kubectl and annotates the job of each admitted one. It uses
the operator's ServiceAccount, which has the permissions, and the image of Volcano's admission, which has kubectl.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from kubeflow_volcano.catalog.operator import era_of, version_of_image
from kubeflow_volcano.catalog.shipped import images_outside
from kubeflow_volcano.cluster.objects import Object, Ref

CONTAINER = "notifier"
ANNOTATION = "kubeflow-volcano/gang-admitted"
"""Annotation of a job: when its gang was last seen admitted, in seconds since the epoch."""

_ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission"), "admission"

# A watch prints the existing objects, then every change; the loop restarts it when it ends. As PID 1 the shell receives
# only signals that it traps, and a trap runs only after the foreground process ends, hence `wait`.
# Kind and name of an owner are what the creator of a PodGroup chose (the API server checks neither), and kubectl runs
# with the operator's token: words that are no kind or name, such as --server=..., are left out.
_SCRIPT = f"""\
trap 'exit 0' TERM INT
while true; do
  kubectl get podgroups.scheduling.volcano.sh --all-namespaces --watch --output 'jsonpath={{.metadata.namespace}} \
{{.status.phase}} {{.metadata.ownerReferences[0].apiVersion}} {{.metadata.ownerReferences[0].kind}} \
{{.metadata.ownerReferences[0].name}}{{"\\n"}}' |
  while read -r namespace phase version kind name; do
    case "$phase $version" in
      "Inqueue kubeflow.org/"*)
        case "$kind" in "" | *[!A-Za-z]*) continue ;; esac
        case "$namespace/$name" in -* | */-* | */ | *[!a-z0-9./-]* | */*/*) continue ;; esac
        kubectl --namespace "$namespace" annotate --overwrite -- "$kind.kubeflow.org" "$name" \
          {ANNOTATION}="$(date +%s)" </dev/null ;;
    esac
  done &
  wait $!
  sleep 1 &
  wait $!
done
"""


def with_notifier(
    objects: Sequence[Object], operator: str, release_version: str, volcano_version: str
) -> tuple[Object, ...]:
    """`objects` with the notifier in a copy of the Deployment `operator`, if the operator's version needs it."""
    return tuple(
        _add_notifier(obj, volcano_version) if _needs_notifier(obj, operator, release_version) else obj
        for obj in objects
    )


def _needs_notifier(obj: Object, operator: str, release_version: str) -> bool:
    if obj["kind"] != "Deployment" or obj["metadata"]["name"] != operator:
        return False
    containers = obj["spec"]["template"]["spec"]["containers"]
    images = [item["image"] for item in containers if item["name"] == operator]
    return any(not era_of(version_of_image(image) or release_version).watches_groups for image in images)


def _add_notifier(deployment: Object, volcano_version: str) -> Object:
    changed = copy.deepcopy(deployment)
    changed["spec"]["template"]["spec"]["containers"].append(_container(volcano_version))
    return changed


def _container(volcano_version: str) -> Object:
    return {
        "name": CONTAINER,
        "image": images_outside("volcano", volcano_version)[_ADMISSION],
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _SCRIPT],
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108  for the discovery cache of kubectl
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False},
    }
