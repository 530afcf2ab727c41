"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_host_questions
short_description: Work out what preflight asks every host
description:
  - Turns the settings into names of kernel modules and settings, of mirrors, directories and other hosts, once for all.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  hosts:
    description: Names of the hosts that are asked.
    type: list
    elements: str
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
- name: Work out what to ask
  kfv_host_questions:
    settings: "{{ __preflight_inventory.settings }}"
    hosts: "{{ ansible_play_hosts_all }}"
  register: __preflight_questions
"""

RETURN = r"""
modules:
  description: Names of kernel modules.
  returned: success
  type: list
sysctls:
  description: Names of kernel settings.
  returned: success
  type: list
names:
  description: Names of mirrors.
  returned: success
  type: list
connects:
  description: Addresses with ports of other hosts, by host.
  returned: success
  type: dict
paths:
  description: Directories by host and purpose.
  returned: success
  type: dict
"""
