"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_volumes
short_description: Judge and make directories of volumes on hosts, and find owners of what is in them
description:
  - The steps of the role C(kubeflow_volcano.platform.local_path), which is what you call.
  - Measurements come from the host, the consumers of volumes from the cluster.
version_added: "0.1.0"
options:
  step:
    description: What to do. V(judge), V(owners) and V(show) change nothing.
    type: str
    choices: [judge, make, label, owners, repair, show]
    required: true
  path:
    description: The directory of volumes.
    type: path
    default: ""
  minimum_free_gb:
    description: Free space in GB that it must have; 0 means what the chosen components claim.
    type: int
    default: 0
  required:
    description: Whether a cluster that does not answer fails V(owners).
    type: bool
    default: false
  tighten:
    description: Claims whose volumes are closed to other users.
    type: list
    elements: str
    default: []
  volumes:
    description: Volumes of the host, as V(owners) returns them.
    type: list
    elements: dict
    default: []
  repair:
    description: Whether V(repair) corrects owners, or counts them only.
    type: bool
    default: false
  owners:
    description: Owners of volumes, as V(owners) returns them.
    type: list
    elements: dict
    default: []
  hosts:
    description: Hosts by name of their Node, as V(owners) returns them.
    type: dict
    default: {}
  register:
    description: Variable in which the result of V(repair) is registered for each host.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: In check mode hosts are looked at and not changed.
  diff_mode:
    support: full
    description: Shows what changes on a host.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Judge the directory of volumes
  kubeflow_volcano.platform.kfv_volumes:
    step: judge
    path: /opt/local-path-provisioner
"""

RETURN = r"""
refusal:
  description: Why the directory is unfit; empty if it is fit.
  returned: with step judge
  type: str
owners:
  description: Volumes on disks of hosts, each with its claim and the user and groups that write to it.
  returned: with step owners
  type: list
  elements: dict
rows:
  description: Rows of the table that was printed.
  returned: with step show
  type: list
  elements: dict
"""
