"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_settings
short_description: Check the settings of the inventory, all at once, before anything is changed
description:
  - Collects the variables of the host that begin with the name of one of this collection's roles, checks them
    together against the schema and the release catalog, and returns them complete with defaults.
  - Reports every error in one go, each with what was found, what is needed and what to do; names that are not
    known are answered with the nearest one that is.
  - On localhost, the variables of all other hosts of the inventory are checked too. A mistake that many hosts share is
    told once, with their names.
  - Runs on the machine that runs Ansible and contacts nothing.
version_added: "0.1.0"
options:
  variables:
    description: Variables to check instead of those of the host.
    type: dict
attributes:
  check_mode:
    support: full
    description: Changes nothing, in check mode or out of it.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __volcano_inventory
"""

RETURN = r"""
settings:
  description:
    - The public variables that were found, as plain values; what is absent takes its default.
    - The password of the first user is left out; the plugin that needs it takes it from the variables of the host.
  returned: success
  type: dict
  sample: {"kubeflow_release": "1.9.1", "volcano_version": "1.10.0"}
components:
  description: Names of the components to install, in the order of what they need.
  returned: success
  type: list
  elements: str
  sample: [local-path, volcano, training-operator]
kustomize:
  description: Path at which kustomize is, or will be once it is downloaded.
  returned: success
  type: str
kustomize_version:
  description: Version of kustomize to download when it is not there.
  returned: success
  type: str
  sample: "5.2.1"
"""
