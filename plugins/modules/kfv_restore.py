"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_restore
short_description: Create the objects of a backup that the cluster lacks
description:
  - Verifies the sums of the backup's files and that the cluster serves every saved kind in its saved version, before it
    creates anything.
  - Creates namespaces, secrets and profiles first, then queues, what others refer to, and last what starts pods.
  - Creates only what kfv_backup writes. The rest, and kinds that are not served, are named before the first change.
  - Changes no object that exists, and names those with other content. Does not create jobs that had ended.
  - References to owners are set to the new UIDs, and dropped where the owner was not restored.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
  directory:
    description: A directory that kfv_backup wrote.
    type: path
    required: true
  kinds:
    description: The kinds to restore; all of them without this option.
    type: list
    elements: str
    default: []
  exclude:
    description: Kinds, namespaces and objects that are left out, as restore_exclude has them.
    type: list
    elements: str
    default: []
  allow_rights:
    description: Whether objects are created that act with more rights than those of a profile.
    type: bool
    default: false
  accept_changed:
    description: Whether files may differ from their sums, because they were edited.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Reports which objects would be created.
  diff_mode:
    support: full
    description: Shows each created object, without the values of Secrets.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Restore everything
  kubeflow_volcano.platform.kfv_restore:
    settings: "{{ __restore_inventory.settings }}"
    directory: backups/20261125T103000Z
"""

RETURN = r"""
objects:
  description: Every object that was created or refused, or in check mode would be.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "Profile team-a", "action": "created", "component": ""}]
seconds:
  description: How long it took.
  returned: success
  type: float
"""
