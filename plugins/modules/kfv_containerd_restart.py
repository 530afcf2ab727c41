"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_containerd_restart
short_description: Put a change of containerd's registries into use, or take it back
description:
  - Restarts containerd where that is needed, waits until its CRI answers, then until the Node is ready with a Lease
    renewed after the restart, then pulls the test image, if there is one. The Node is C(kubeflow_node_name), or what
    the inventory calls the host; none is looked at where no kubeconfig is known.
  - Where one of these fails, everything that M(kfv_containerd) wrote is taken back, containerd is restarted with what
    it had before, and the task fails with what went wrong and how the node was left.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  restart:
    description: Whether containerd has to be restarted.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: Does nothing.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Put the registries of containerd into use
  kfv_containerd_restart:
    settings: "{{ __image_mirror_inventory.settings }}"
    restart: "{{ __image_mirror_containerd.restart }}"
"""

RETURN = r"""
msg:
  description: What went wrong, and how the node was left.
  returned: failure
  type: str
  sample: "Found: a change of containerd's registries was written, and containerd did not come up with it."
"""
