"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_rehearsal
short_description: Bring up a rehearsal cluster on this machine, or remove it
description:
  - Converges an embedded real Kubernetes on the machine that runs Ansible; an interrupted run is continued by the next.
  - Builds its tools from pinned sources where they are not in the cache yet, which takes a while and tells so.
version_added: "0.1.0"
options:
  name:
    description: Name of the cluster.
    type: str
    default: default
  state:
    description:
      - V(present) brings the cluster up; V(absent) removes all of it but the cached tools.
      - V(inspected) only reports what the machine lacks; like the others it needs root.
    type: str
    default: present
    choices: [present, absent, inspected]
  generation:
    description: Set of versions to run, named after its Kubernetes.
    type: str
    default: "1.30"
  gpu_nodes:
    description: How many simulated nodes with GPUs it has.
    type: int
    default: 4
  gpus_per_node:
    description: How many GPUs each of them offers.
    type: int
    default: 1
  extras:
    description: Further programs of the generation, which are built only for clusters that ask.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: partial
    description: Foresees a start, a removal and another number of simulated nodes; not a renewal of the real node.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Bring a rehearsal cluster up
  kfv_rehearsal:
    gpu_nodes: 8

- name: Remove it
  kfv_rehearsal:
    state: absent
"""

RETURN = r"""
changes:
  description: What was done, in sentences.
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
  description: How long each milestone took, from the start.
  returned: when O(state=present), outside check mode
  type: dict
missing:
  description: What this machine lacks; each with C(what), C(what_for) and C(packages) by package manager.
  returned: when O(state=inspected)
  type: list
  elements: dict
"""
