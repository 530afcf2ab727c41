"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_gang_wiring
short_description: Wire the training operator to Volcano, or take the wiring away
description:
  - Gives the operator the arguments with which its version makes gangs of jobs, and none that it does not know.
  - Restarts an operator that is older than the PodGroup kind, which it looks for once at its start, and sees that
    it may use PodGroups.
  - With C(gang_scheduling_scheduler) V(none) in the settings it takes the arguments away.
  - Runs on the machine that runs Ansible and talks to the API server directly.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Says what would be changed, by dry runs of the API server, and changes nothing.
  diff_mode:
    support: full
    description: Shows the operator's Deployment before and after.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __gang_scheduling_inventory

- name: Make gangs of training jobs
  kfv_gang_wiring:
    settings: "{{ __gang_scheduling_inventory.settings }}"
"""

RETURN = r"""
objects:
  description: What was changed or refused, or in check mode would be.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "Deployment kubeflow/training-operator", "action": "changed", "component": "training-operator"}]
exit_code:
  description: When nothing could be begun, why, as with python -m validators; 2 for unusable settings, 5 for a lock.
  returned: failure
  type: int
seconds:
  description: How long it took.
  returned: success
  type: float
"""
