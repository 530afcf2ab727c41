"""Settings that are not in a Node object: the SELinux mode and the cgroup drivers. The probe only reads."""

from __future__ import annotations

from dataclasses import dataclass

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.experiment.ended import End, watch_to_end
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, on_node, probe_pod
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import NODES
from kubeflow_volcano.validators.probes.acting import ACTING, POD_EVENTS

MOST_NODES = 40
"""More nodes than these are not looked at in one run."""

NOT_READY = "NotReady"
"""Reason for a node that was not looked at because it is lost or under pressure."""

_AT_ONCE = 6

# A pod's group is called podUID by the cgroupfs driver and …-podUID.slice, with _ for -, by systemd (kubernetes,
# pkg/kubelet/cm/cgroup_manager_linux.go); the runtime puts a scope of systemd's into it, or a plain directory.
SCRIPT = """
say() { printf '%s\\n' "$*" >> /dev/termination-log; }
if [ -e /kfv/selinux/enforce ]; then
  case $(cat /kfv/selinux/enforce 2>/dev/null) in 0) say selinux permissive ;; *) say selinux enforcing ;; esac
else
  say selinux disabled
fi
[ -e /kfv/cgroup/cgroup.controllers ] && say version 2 || say version 1
plain=pod$KFV_UID slice=pod$(echo "$KFV_UID" | tr - _).slice
for depth in '*' '*/*' '*/*/*' '*/*/*/*' '*/*/*/*/*'; do
  for d in /kfv/cgroup/$depth/$plain /kfv/cgroup/$depth/*$slice; do
    [ -d "$d" ] || continue
    case $d in *.slice) say kubelet systemd ;; *) say kubelet cgroupfs ;; esac
    for c in "$d"/*.scope; do [ -d "$c" ] && say runtime systemd && exit 0; done
    say runtime cgroupfs
    exit 0
  done
done
"""
"""For busybox sh and any other; reports to the termination log."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known of one node. `failure` is the reason and the text of what kept it from being looked at.

    `selinux` is enforcing, permissive or disabled; `cgroups` the version; `kubelet` and `runtime` are the drivers that
    each uses, systemd or cgroupfs, empty where the pod's own group was not found.
    """

    node: str
    selinux: str = ""
    cgroups: str = ""
    kubelet: str = ""
    runtime: str = ""
    failure: tuple[str, str] = ("", "")


def run(session: Session, facts: Facts, progress: Progress) -> tuple[Settings, ...]:
    """Look at every real node, six at a time; some seconds, bounded by 45 s for each.

    Raises:
        CannotJudgeError: nodes could not be read.
    """
    live = {item["metadata"]["name"]: assess(item).state is State.READY for item in facts.all(NODES)}
    real = sorted(live.keys() - facts.simulated_nodes)
    names = [name for name in real if live[name]][:MOST_NODES]
    asleep = tuple(Settings(name, failure=(NOT_READY, "it is not Ready")) for name in real if not live[name])
    progress(f"A5 looking at {counted(len(names), 'node')}")
    return asleep + tuple(
        in_parallel(lambda item: _look(session, facts.timing.pod_seconds, *item), enumerate(names), _AT_ONCE)
    )


def _look(session: Session, seconds: float, number: int, node: str) -> Settings:
    container = {
        "image": session.options.busybox_image,
        "resources": SCRIPT_RESOURCES,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "KFV_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
        "volumeMounts": [{"name": "sys", "mountPath": "/kfv", "readOnly": True}],
    }
    volume = {"name": "sys", "hostPath": {"path": "/sys/fs", "type": "Directory"}}
    security = {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"volumes": [volume], **on_node(node)}
    try:
        namespace = session.namespace(Level.PRIVILEGED)
        name = f"kfv-{session.run}-node-{number}"
        pod = session.create(probe_pod(name, namespace, container, spec=spec, security=security))
        end = watch_to_end(session, pod, seconds)
        session.delete(pod)
    except ProbeRefused as refusal:
        return Settings(node, failure=("ProbeRefused", str(refusal)))
    except ApiError as error:
        return Settings(node, failure=("ProbeInterrupted", str(error)))
    return account(node, end)


def account(node: str, end: End) -> Settings:
    """What the script's report says."""
    said = {word: rest for line in end.said.splitlines() for word, _, rest in [line.partition(" ")]}
    if end.failure or "version" not in said:
        text = end.failure or "the probe ended before it had seen everything"
        return Settings(node, failure=(end.reason or "ProbeInterrupted", text))
    return Settings(node, said.get("selinux", ""), said["version"], said.get("kubelet", ""), said.get("runtime", ""))


NODE_SETTINGS = Probe[tuple[Settings, ...]]("node-settings", run, "nodes", reads=(NODES,), needs=(*ACTING, *POD_EVENTS))
