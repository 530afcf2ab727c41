"""The command that opens a Volcano queue.

Rules: pkg/controllers/queue of Volcano v1.8.0 to v1.15.1. From v1.11.0 on its controllers write the state of a queue by
server-side apply: after another field manager wrote it, they could not close the queue again. Earlier controllers
cannot open a queue that is Closing, and ignore field managers.
"""

from __future__ import annotations

import json

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object

_APPLIES_STATES = (1, 11)
_STATE = """--subresource=status --type=merge -p '{"status":{"state":"Open"}}'"""


def open_command(queue: Object, version: str, where: str) -> str:
    """The shell command; `version` is Volcano's, empty if it is not known, `where` its namespace."""
    meta = queue["metadata"]
    if version and version_key(version) < _APPLIES_STATES:
        return f"kubectl patch queues.scheduling.volcano.sh {meta['name']} {_STATE}"
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": meta["name"], "uid": meta["uid"]}
    text = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": f"{meta['name']}-open-", "namespace": where},
        "target": target,
        "action": "OpenQueue",
    }
    return f"echo '{json.dumps(text, separators=(',', ':'))}' | kubectl create -f -"
