"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_volume_table
short_description: Show the owners of volumes of all hosts in one table
description:
  - Puts together whose the directories have to be and what was found on each host, and prints what a person has to hear
    of - owners that are wrong or were repaired, directories that are open to everybody, what could not be judged.
version_added: "0.1.0"
options:
  owners:
    description: What kfv_volume_owners returned under this name.
    type: list
    elements: dict
    required: true
  hosts:
    description: What it returned under this name.
    type: dict
    required: true
  answers:
    description: Name of the variable in which each host has the answer of kfv_volumes.
    type: str
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
- name: Show the owners of all volumes
  kfv_volume_table:
    owners: "{{ __local_path_owners.owners }}"
    hosts: "{{ __local_path_owners.hosts }}"
    answers: __local_path_volumes
  run_once: true
"""

RETURN = r"""
rows:
  description: A row for each directory of a volume.
  returned: success
  type: list
  elements: dict
"""
