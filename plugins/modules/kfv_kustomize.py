"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_kustomize
short_description: Find or download the kustomize of a release
description:
  - The step of the role C(kubeflow_volcano.platform.kustomize), which is what you call.
  - The program is in the cache of the machine that runs Ansible. It is compared with its sum in the catalog.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: partial
    description: The program is downloaded in check mode too, because a plan needs it. Nothing else changes.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Find or download kustomize
  kubeflow_volcano.platform.kfv_kustomize:
    settings: "{{ __kustomize_inventory.settings }}"
"""

RETURN = r"""
path:
  description: The program.
  returned: success
  type: str
version:
  description: Its version.
  returned: success
  type: str
  sample: 5.4.3
"""
