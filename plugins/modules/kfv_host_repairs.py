"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_host_repairs
short_description: Tell what was repaired on all hosts
description:
  - Prints each repair once, with the hosts on which it was done, and what could not be taken back.
version_added: "0.1.0"
options:
  hosts:
    description: Names of the hosts that were to be repaired.
    type: list
    elements: str
    required: true
  register:
    description: Under what the answers of kfv_host_repair were registered.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Tells what would be done.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Tell what was repaired
  kfv_host_repairs:
    hosts: "{{ ansible_play_hosts_all }}"
    register: __preflight_repaired
  run_once: true
"""

RETURN = r"""
done:
  description: Hosts by what was done on them.
  returned: success
  type: dict
left:
  description: Hosts by what could not be taken back.
  returned: success
  type: dict
"""
