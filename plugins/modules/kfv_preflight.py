"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_preflight
short_description: Find out what stands in the way of a roll-out, all at once
description:
  - Looks at versions, sources, manifests and storage of all components that are to be rolled out, and reports every
    reason why the roll-out would fail, before its first change.
  - Leaves what it downloads and renders in the cache of the machine that runs Ansible.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Changes nothing in the cluster, in check mode or out of it.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __install_inventory

- name: Refuse a roll-out that cannot work
  kfv_preflight:
    settings: "{{ __install_inventory.settings }}"
"""

RETURN = r"""
objects:
  description: How many objects the roll-out is made of.
  returned: success
  type: int
  sample: 59
"""
