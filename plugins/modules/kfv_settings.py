"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_settings
short_description: Validate the settings of the inventory, all of them, before the first change
description:
  - Collects the variables of the host that begin with the name of one of this collection's roles, validates them
    together with the schema and the release catalog, and returns them.
  - Reports all errors together, each with what was found, what is needed and what to do; a name that
    resembles one of the collection's is refused with the one that is probably meant. Other variables that only begin
    like the collection's are neither read nor refused.
  - On localhost, it also validates the variables of the hosts in the groups C(control_plane), C(nodes) and C(clusters).
    An error that many hosts share is reported once, with their names.
  - Runs on the machine that runs Ansible and contacts nothing.
version_added: "0.1.0"
options:
  variables:
    description: Variables to validate instead of those of the host.
    type: dict
  list_others:
    description:
      - Also print which hosts of the inventory are in neither of the groups C(control_plane) and C(nodes), and which
        variables begin like the collection's and are not read.
    type: bool
    default: false
  need_hosts:
    description:
      - Whether the playbook is about hosts alone, so that an inventory whose hosts are in neither of the groups
        C(control_plane) and C(nodes) is refused also where these groups are there and empty. For O(list_others).
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: It changes nothing anyway.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Validate the settings
  kubeflow_volcano.platform.kfv_settings:
  register: __volcano_inventory
"""

RETURN = r"""
settings:
  description:
    - The public variables of the host, as plain values; absent ones have their default.
    - The password of the first user is left out, and addresses have C(***) in place of user and password. Plugins that
      need them read them from the variables of the host.
  returned: success
  type: dict
  sample: {"kubeflow_release": "1.9.1", "volcano_version": "1.10.0"}
components:
  description: Names of the components to install, in the order of their dependencies.
  returned: success
  type: list
  elements: str
  sample: [local-path, volcano, training-operator]
kustomize:
  description: Path of kustomize, also before its download.
  returned: success
  type: str
kustomize_version:
  description: Version of kustomize that is downloaded if it is missing.
  returned: success
  type: str
  sample: "5.2.1"
"""
