"""kfv_rehearsal: the rehearsal cluster of this machine is started or removed. Documented in plugins/modules."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.problems import Unreachable
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.tools import tools_to_build
from kubeflow_volcano.rehearsal.cluster import simulated_nodes
from kubeflow_volcano.rehearsal.host.facts import look_at_host
from kubeflow_volcano.rehearsal.host.packages import missing_packages
from kubeflow_volcano.rehearsal.host.preflight import check_basics
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import ClusterPaths, NodeKind, RehearsalSpec


class ActionModule(Action):
    """Converge the rehearsal cluster."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Report what was done to reach the state."""
        spec = RehearsalSpec(
            name=arguments["name"],
            generation=arguments["generation"],
            gpu_nodes=arguments["gpu_nodes"],
            gpus_per_node=arguments["gpus_per_node"],
            extras=tuple(arguments["extras"]),
            nodes=tuple(NodeKind(**item) for item in arguments["nodes"]),
        )
        if arguments["state"] == "inspected":
            check_basics(look_at_host())
            to_make = tools_to_build(load_generation(spec.generation, extras=spec.extras))
            return {"missing": [asdict(item) for item in missing_packages(to_make)]}
        if self.check_mode:
            return _foreseen(spec, arguments["state"])
        return _present(spec) if arguments["state"] == "present" else _absent(spec)


def _present(spec: RehearsalSpec) -> dict[str, Any]:
    running = up(spec, show)
    return {
        "changed": running.changed,
        "changes": list(running.changes),
        "kubeconfig": str(running.kubeconfig),
        "api_server": running.api_server,
        "seconds": running.seconds,
    }


def _absent(spec: RehearsalSpec) -> dict[str, Any]:
    removed = down(spec.name, show)
    if not removed.left:
        return {"changed": removed.changed}
    text = f"Found: left after the removal: {', '.join(removed.left)}. Needed: nothing. Do: run the same command again."
    return {"changed": removed.changed, "failed": True, "msg": text}


def _foreseen(spec: RehearsalSpec, state: str) -> dict[str, Any]:
    """What a run would do, judged by whether the cluster answers."""
    spec.validate()
    paths = ClusterPaths.of(spec.name)
    if state == "absent":
        return {"changed": paths.home.exists()}
    try:
        cluster = Cluster.connect(paths.kubeconfig)
    except Unreachable:
        return {"changed": True, "changes": [f"the rehearsal cluster {spec.name} would be started"]}
    changes = simulated_nodes.sync(cluster, spec, check=True)
    return {"changed": bool(changes), "changes": list(changes), "kubeconfig": str(paths.kubeconfig)}
