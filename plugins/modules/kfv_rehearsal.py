"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_rehearsal
short_description: Start a rehearsal cluster on this machine, or remove it
description:
  - Converges an embedded real Kubernetes on the machine that runs Ansible; the next run continues an interrupted one.
  - Builds its tools from pinned sources if they are not in the cache, and reports the progress.
version_added: "0.1.0"
options:
  name:
    description: Name of the cluster.
    type: str
    default: default
  state:
    description:
      - V(present) starts the cluster; V(absent) removes everything but the cached tools.
      - V(inspected) only reports missing packages; it needs root as the others do.
    type: str
    default: present
    choices: [present, absent, inspected]
  generation:
    description: Set of versions, named after its Kubernetes.
    type: str
    default: "1.30"
  gpu_nodes:
    description: Number of simulated GPU nodes.
    type: int
    default: 4
  gpus_per_node:
    description: GPUs per simulated node.
    type: int
    default: 1
  extras:
    description: Additional programs of the generation.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: partial
    description: Predicts a start, a removal and another number of simulated nodes; not a renewal of the real node.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Start a rehearsal cluster
  kubeflow_volcano.platform.kfv_rehearsal:
    gpu_nodes: 8

- name: Remove it
  kubeflow_volcano.platform.kfv_rehearsal:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed.
  returned: when O(state=present)
  type: list
  elements: str
kubeconfig:
  description: Administrator's credentials, usable from this machine.
  returned: when O(state=present)
  type: str
api_server:
  description: Address of the API server.
  returned: when O(state=present), outside check mode
  type: str
seconds:
  description: Seconds from the start to each milestone.
  returned: when O(state=present), outside check mode
  type: dict
missing:
  description: What is missing on this machine; each with C(what), C(what_for) and C(packages) by package manager.
  returned: when O(state=inspected)
  type: list
  elements: dict
"""
