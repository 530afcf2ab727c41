"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_backup
short_description: Save custom resources, profiles, contributors and the first user's password to files
description:
  - Writes a new directory with a file of YAML for each kind and a manifest with their sums. Only its owner can read it.
  - Saves the objects of all CRDs that this project applied, but those that a roll-out applies itself, and those that a
    controller makes from their owner.
  - Says which claims there are, because no volume is saved.
  - Changes nothing on the cluster.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
  directory:
    description: Where the new directory is made, whose name is the time in UTC.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode the cluster is read and nothing is written.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Save what no inventory declares
  kubeflow_volcano.platform.kfv_backup:
    settings: "{{ __backup_inventory.settings }}"
    directory: backups
"""

RETURN = r"""
directory:
  description: The new directory; empty in check mode.
  returned: success
  type: str
  sample: backups/20261125T103000Z
objects:
  description: How many objects of each kind it has.
  returned: success
  type: dict
  sample: {"Profile": 2, "Notebook": 5}
volumes:
  description: Claims, as namespace/name, whose content is not saved.
  returned: success
  type: list
  elements: str
"""
