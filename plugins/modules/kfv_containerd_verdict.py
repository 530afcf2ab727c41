"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_containerd_verdict
short_description: Refuse nodes whose containerd cannot be set up
description:
  - Fails with everything that M(kfv_containerd) found on any node, each problem once with the nodes that have it.
version_added: "0.1.0"
options:
  nodes:
    description: What kfv_containerd returned with C(write=false), by the name of the host.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: It changes nothing anyway.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse nodes that cannot be set up
  kfv_containerd_verdict:
    nodes: "{{ dict(ansible_play_batch | zip(ansible_play_batch | map('extract', hostvars, '__image_mirror_look'))) }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: Everything that was found, with the nodes that it was found on.
  returned: failure
  type: str
  sample: "Found: on worker-1: the node runs CRI-O, which does not read hosts.toml."
"""
