"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_pull_table
short_description: Tell what became of the images of all nodes
description:
  - Shows one table with a line per node, removes the ledger, and fails with everything that keeps a node from having
    its images, each trouble once.
version_added: "0.4.0"
options:
  ledger:
    description: What kfv_pull_plan returned under this name.
    type: str
    required: true
attributes:
  check_mode:
    support: none
    description: There is no ledger in check mode.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Tell what became of the images of all nodes
  kfv_pull_table:
    ledger: "{{ __image_mirror_plan.ledger }}"
  run_once: true
  when: not ansible_check_mode
"""

RETURN = r"""
nodes:
  description: By host the images that were pulled, were there, were refused, failed and were not tried.
  returned: success
  type: dict
  sample: {node-1: {node: node-1, present: 3, pulled: ["docker.io/library/busybox:1.36"], changed: true, refused: {},
                    failed: {}, left: {}, skipped: {}, bytes: 2160000, seconds: 4.1}}
"""
