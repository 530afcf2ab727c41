"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_rollout
short_description: Roll one component out and wait until it is ready
description:
  - Renders the manifests of a component, applies its objects server-side in the order of what they need, and waits
    until its workloads and webhooks are ready. A wait ends early on a state that cannot heal by itself, and names it.
  - Objects that are as they should be are not written; what was not created here is never deleted.
  - Runs on the machine that runs Ansible and talks to the API server directly.
version_added: "0.1.0"
options:
  component:
    description: Name of the component, as in the release catalog.
    type: str
    required: true
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Says which objects would be created or changed, by dry runs of the API server, and changes nothing.
  diff_mode:
    support: full
    description: Shows each created or changed object before and after, without the values of secrets.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __volcano_inventory

- name: Roll Volcano out and wait until it can schedule
  kfv_rollout:
    component: volcano
    settings: "{{ __volcano_inventory.settings }}"
"""

RETURN = r"""
objects:
  description: Every object that was created, changed or refused, or in check mode would be.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "Deployment volcano-system/volcano-scheduler", "action": "created"}]
seconds:
  description: How long it took.
  returned: success
  type: float
"""
