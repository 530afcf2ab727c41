"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_kustomize
short_description: Provide the kustomize that a release was tested with, on the machine that runs Ansible
description:
  - Takes the binary that C(kustomize_binary) names, else the one in the cache, else downloads the release's version
    from upstream or a mirror. A download counts only with the sum that the catalog has for it, and a
    binary for this machine only if it runs.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  machine:
    description: Kind of machine that the binary is for, as C(uname -m) says it; empty is the one that runs Ansible.
    type: str
    default: ""
attributes:
  check_mode:
    support: partial
    description: The cache is filled in check mode too; without the binary nothing can be rendered.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __kustomize_inventory

- name: Provide the binary
  kfv_kustomize:
    settings: "{{ __kustomize_inventory.settings }}"
"""

RETURN = r"""
path:
  description: Where the binary is.
  returned: success
  type: str
version:
  description: Version that the settings ask for.
  returned: success
  type: str
  sample: 5.2.1
"""
