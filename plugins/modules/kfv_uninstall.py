"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_uninstall
short_description: Remove what roll-outs brought, the whole or single components
description:
  - Removes the objects that this project applied, by UID, in the order that controllers and webhooks need. Takes the
    lock of roll-outs. May be interrupted and repeated at any time.
  - Keeps claims, volumes, profiles and the first user's Secret unless C(uninstall_data) names them, CRDs and namespaces
    in which others have objects, and everything that no roll-out applied.
  - Refuses to remove a component that another one needs, before its first change, with the list.
  - An object that is held is reported with its finalizers, their controller and whether it lives. Finalizers are
    stripped only of objects that C(uninstall_finalize) names.
  - With C(uninstall_legacy) the leftovers of kube-batch, kfctl or ksonnet go instead, after PodGroups and queues of
    kube-batch were created as Volcano's.
  - Runs on the machine that runs Ansible and connects to the API server directly.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Shows step by step what would go, and what stays and why, and changes nothing.
  diff_mode:
    support: full
    description: Shows the names of all objects before and after.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Validate the settings
  kubeflow_volcano.platform.kfv_settings:
  register: __uninstall_inventory

- name: Remove what roll-outs brought
  kubeflow_volcano.platform.kfv_uninstall:
    settings: "{{ __uninstall_inventory.settings }}"
"""

RETURN = r"""
objects:
  description: Every object that was removed, or given back to those who made it, or in check mode would be.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "Deployment kubeflow/katib-controller", "action": "removed", "component": "katib"}]
kept:
  description: Every object that stays, why, and what would remove it.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "PersistentVolumeClaim kubeflow/katib-mysql", "why": "it may hold people's work", "todo": "…"}]
exit_code:
  description: >-
    If nothing could be started, why, as with C(kubeflow-volcano validate); 2 for unusable settings, 5 for a lock.
  returned: failure
  type: int
seconds:
  description: How long it took.
  returned: success
  type: float
"""
