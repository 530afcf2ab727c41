"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_volume_owners
short_description: Tell whose the volumes on the disks of nodes are
description:
  - Reads bound volumes of the kinds hostPath and local, and finds out as whom each is written to - by the live pods
    that mount its claim, else by the workloads that do, else by what the catalog knows of the claim.
  - A directory is not judged where its consumers run as different users, as root, or as whom only their image says.
  - Runs on the machine that runs Ansible and talks to the API server directly; asked once for all hosts.
version_added: "0.1.0"
options:
  required:
    description: Whether it fails where the cluster does not tell; otherwise there are no volumes then, and a message.
    type: bool
    default: false
  tighten:
    description: Claims, as namespace/name, whose directories are to be closed to others.
    type: list
    elements: str
    default: []
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
- name: Ask the cluster whose its volumes are
  kfv_volume_owners:
    required: true
  run_once: true
  register: __local_path_owners
"""

RETURN = r"""
owners:
  description: Every directory of a volume with its node, claim, consumer and owner.
  returned: success
  type: list
  elements: dict
hosts:
  description: Host of the inventory by Node.
  returned: success
  type: dict
volumes:
  description: By host of the inventory, what kfv_volumes is to look at there.
  returned: success
  type: dict
"""
