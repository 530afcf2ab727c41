"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_rollout
short_description: Roll components out and wait until they are ready
description:
  - Renders the manifests of all named components, applies their objects server-side, each as soon as what it needs is
    there, and waits until workloads and webhooks are ready. A wait ends early on a state that cannot heal by itself,
    and names it; objects that do not depend on a refused one go on.
  - Objects that are as they should be are not written; what was not created here is never deleted.
  - With Volcano its queues are opened, closed, or drained and removed as C(volcano_queues) says; jobs that keep a queue
    from being removed are warned of.
  - An object with a changed field that cannot be changed is deleted and made again only if nothing is lost with it
    (Job, RoleBinding, ClusterRoleBinding, PriorityClass, StorageClass, ConfigMap, Secret) and it was applied by us.
  - Runs on the machine that runs Ansible and talks to the API server directly.
version_added: "0.1.0"
options:
  components:
    description: Names of the components, as in the release catalog, in the order of what they need.
    type: list
    elements: str
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
    components: [volcano]
    settings: "{{ __volcano_inventory.settings }}"
"""

RETURN = r"""
objects:
  description: >-
    Every object that was created, changed, refused, or held back because of a refused one, or in check mode would be.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "Deployment volcano-system/volcano-scheduler", "action": "created", "component": "volcano"}]
exit_code:
  description: When nothing could be begun, why, as with python -m validators; 2 for unusable settings, 5 for a lock.
  returned: failure
  type: int
seconds:
  description: How long it took.
  returned: success
  type: float
"""
