"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_pull_plan
short_description: Find out which images each node is to pull
description:
  - Holds the images of all components that are to be rolled out, under the names that nodes are told, and the sandbox
    image of each node against what the nodes have. Leaves out what is known to be gone, not to be served by the mirror
    or not to be built for the architecture of the node.
  - Asks the mirror or registry once for each image that any node lacks, no more often than it allows, for the digest of
    its tag; what is refused there is not pulled.
  - Fails where a node has no container runtime that can be used, with all such nodes.
version_added: "0.4.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  nodes:
    description: By host the result of kfv_pull_host.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode the images are listed, and nobody is asked for them.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Find out what each node is to pull
  kfv_pull_plan:
    settings: "{{ __image_mirror_inventory.settings }}"
    nodes: "{{ dict(ansible_play_batch | zip(ansible_play_batch | map('extract', hostvars, '__image_mirror_node'))) }}"
  run_once: true
  register: __image_mirror_plan
"""

RETURN = r"""
work:
  description: By host the images that are missing, present and left out with the reason.
  returned: success
  type: dict
  sample: {node-1: {node: node-1, missing: ["docker.io/library/busybox:1.36"], present: [], left: {}}}
ledger:
  description: File on the machine that runs Ansible by which the nodes keep in step; empty in check mode.
  returned: success
  type: str
  sample: /root/.cache/kubeflow-volcano/pulls/run-4f2k1/ledger.json
"""
