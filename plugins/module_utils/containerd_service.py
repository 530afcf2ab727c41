"""containerd's service: its restart, and whether its CRI is ready.

Runs on hosts: Python 3.9 or later, standard library only.
"""

from __future__ import annotations

import re
import time
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.containerd import ENDPOINT
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.foreign import mappings, read_json
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.programs import (
    BRIEF_SECONDS,
    MISSING,
    complaint,
    run,
)

PULL_SECONDS = 600
LOOK_SECONDS = 1.0
"""Between two questions after a restart: containerd reports nowhere that its CRI is ready."""
_CRI = re.compile(r"(?m)^Type:\s+io\.containerd\.cri\.|^ID:\s+cri$")


def restart(seconds: int) -> str:
    """Restart containerd; returns why its CRI was not ready within that time, empty where it was."""
    deadline = time.monotonic() + seconds
    done = run(["systemctl", "restart", "containerd.service"], seconds + 60)
    if done.code:
        return complaint(done.errors) or f"systemctl restart containerd ended with {done.code}"
    trouble = unready()
    while trouble and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        trouble = unready()
    return f"{trouble} ({seconds} s after the restart)" if trouble else ""


def unready() -> str:
    """Why containerd's CRI is not ready, empty where it is; by crictl, or by ctr where there is no crictl."""
    done = run(["crictl", "--runtime-endpoint", ENDPOINT, "info"], BRIEF_SECONDS)
    if done.code == MISSING:
        return unloaded()
    if done.code:
        return f"crictl info: {complaint(done.errors)}" + (f"; {more}" if (more := unloaded()) else "")
    try:
        conditions = mappings(read_json(done.output)["status"]["conditions"])
    except (ValueError, KeyError, TypeError):
        return "crictl info answers with something else than a status"
    down = [item for item in conditions if item.get("type") == "RuntimeReady" and not item.get("status")]
    return f"RuntimeReady is false: {down[0].get('message') or down[0].get('reason')}" if down else ""


def unloaded() -> str:
    """CRI plugins that containerd did not load, with its reasons; empty where all are loaded."""
    done = run(["ctr", "plugins", "ls", "-d"], BRIEF_SECONDS)
    if done.code:
        return f"ctr plugins ls: {complaint(done.errors)}"
    bad = [block for block in re.split(r"(?m)^(?=Type:)", done.output) if _CRI.search(block) and "Error:" in block]
    reasons = [line.partition("Message:")[2].strip() for block in bad for line in block.splitlines()]
    return "containerd did not load its CRI plugin: " + "; ".join(dict.fromkeys(filter(None, reasons))) if bad else ""


def pull(image: str) -> str:
    """Why the image cannot be pulled, empty where it was."""
    done = run(["crictl", "--runtime-endpoint", ENDPOINT, "pull", image], PULL_SECONDS)
    return f"{image} cannot be pulled: {complaint(done.errors)}" if done.code else ""


def cri_settings() -> Any:
    """The configuration that the CRI plugin runs with; {} where crictl cannot say."""
    done = run(["crictl", "--runtime-endpoint", ENDPOINT, "info"], BRIEF_SECONDS)
    try:
        config = read_json(done.output).get("config", {}) if not done.code else {}
    except (ValueError, AttributeError):
        config = {}
    return config if isinstance(config, dict) else {}
