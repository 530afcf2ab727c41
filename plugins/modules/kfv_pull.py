"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_pull
short_description: Pull the images that a node lacks, in step with the other nodes
description:
  - Pulls what kfv_pull_plan found to be missing, by the module kfv_pull_host on the node, a few images at a time.
  - The nodes together keep to the pace of the mirror. An image that one of them was refused is asked for by none
    again, and after C(image_mirror_refusals) refusals nobody pulls any more. A 429 makes all of them wait a minute and
    go on half as fast; a second one for the same image ends the pull.
  - A node whose disk is used up to C(image_mirror_pull_disk_percent), that does not trust the registry or gets no
    answer three times in a row pulls no more; the others go on.
  - Each image is held against the digest in its name, else against what the registry said of it.
  - Does not fail for what could not be pulled; kfv_pull_table tells that for all nodes.
version_added: "0.4.0"
options:
  work:
    description: What kfv_pull_plan returned for this node.
    type: dict
    required: true
  ledger:
    description: What kfv_pull_plan returned under this name.
    type: str
    required: true
  parallel:
    description: How many images are pulled at the same time.
    type: int
    required: true
  disk_percent:
    description: Used share of the disk with the images, in percent, from which on nothing is pulled.
    type: int
    required: true
  timeout_seconds:
    description: How long one pull may take.
    type: int
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode nothing is pulled; changed says whether anything would be.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Pull what is missing
  kfv_pull:
    work: "{{ __image_mirror_plan.work[inventory_hostname] }}"
    ledger: "{{ __image_mirror_plan.ledger }}"
    parallel: "{{ image_mirror_pull_parallel }}"
    disk_percent: "{{ image_mirror_pull_disk_percent }}"
    timeout_seconds: "{{ image_mirror_pull_timeout_seconds }}"
"""

RETURN = r"""
pulled:
  description: The images that were pulled and are what their names say.
  returned: success, but for check mode
  type: list
  elements: str
  sample: ["docker.io/library/busybox:1.36"]
missing:
  description: The images that would be pulled.
  returned: in check mode
  type: list
  elements: str
"""
