"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_rollout
short_description: Roll out everything that the inventory chooses, as one graph of objects
description:
  - Judges versions, sources, manifests, storage, queues and rights first, and reports every reason why the roll-out
    cannot work before its first change.
  - Renders the manifests, applies their objects server-side, each as soon as its needs are met, and waits until
    workloads and webhooks are ready. A wait ends early in a state that cannot heal by itself, and names it. Objects
    that do not depend on a refused one are applied all the same.
  - Objects that are up to date are not written. Objects of others are never deleted.
  - Fields in C(kubeflow_ceded_fields), and replicas that a HorizontalPodAutoscaler sets, are left to others and keep
    their values.
  - Opens, closes, drains and deletes the queues of Volcano as C(volcano_queues) declares, and warns of jobs that keep a
    queue from being deleted.
  - Restarts operators of training jobs that are older than the PodGroup CRD, which they look for once, at their start.
  - An object with a changed immutable field is recreated only if that loses nothing (Job, RoleBinding,
    ClusterRoleBinding, PriorityClass, StorageClass, ConfigMap, Secret) and this project applied it before.
  - Runs on the machine that runs Ansible and connects to the API server directly.
version_added: "0.1.0"
options:
  roles:
    description:
      - The roles whose part is rolled out; all of them without this option.
      - V(kubeflow) is every chosen component that no other role brings; V(gang_scheduling) alone applies the arguments,
        runtimes and companions that make operators create gangs.
    type: list
    elements: str
    choices: [local_path, volcano, scheduler_plugins, kubeflow, gang_scheduling]
    default: [local_path, volcano, scheduler_plugins, kubeflow, gang_scheduling]
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Reports which objects would be created or changed, by server-side dry runs, and changes nothing.
  diff_mode:
    support: full
    description: Shows each created or changed object before and after, without the values of Secrets.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Validate the settings
  kubeflow_volcano.platform.kfv_settings:
  register: __install_inventory

- name: Roll everything out
  kubeflow_volcano.platform.kfv_rollout:
    settings: "{{ __install_inventory.settings }}"

- name: Roll Volcano out
  kubeflow_volcano.platform.kfv_rollout:
    roles: [volcano]
    settings: "{{ __install_inventory.settings }}"
"""

RETURN = r"""
objects:
  description: >-
    Every object that was created, changed, refused, or held back because of a refused one, or in check mode would be.
    After problems only those that were refused or held back.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "Deployment volcano-system/volcano-scheduler", "action": "created", "component": "volcano"}]
exit_code:
  description: >-
    If nothing could be started, why, as with C(kubeflow-volcano validate); 2 for unusable settings, 5 for a lock.
  returned: failure
  type: int
started:
  description: >-
    Whether the cluster has at least one object as declared, so that a validation makes sense. Absent if the roll-out
    was refused before the first change.
  returned: when objects were compared with the cluster
  type: bool
problems:
  description: What was found wrong, without the advice that the message adds.
  returned: when objects were compared with the cluster
  type: list
  elements: str
seconds:
  description: How long it took.
  returned: success
  type: float
way_in:
  description: >-
    Lines for a person: the address at which to sign in, the user, and the command that reads the password. Empty
    without a gateway of this inventory, in check mode, and after problems.
  returned: when objects were sent
  type: list
  elements: str
"""
