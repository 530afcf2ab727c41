"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_containerd
short_description: Tell a node's containerd where images come from
description:
  - Writes a hosts.toml for each registry that a mirror rule reaches, and sets C(config_path) in containerd's
    configuration where it has none. The file keeps its version, its comments and everything else in it. The deprecated
    C(registry.mirrors) and C(registry.configs.*.tls) move into hosts.toml files that do the same; credentials stay.
  - containerd is asked what it makes of the new configuration (C(containerd config dump)) before anything is written,
    and that must differ in the registries alone.
  - Fails, before anything is written, with everything that keeps it from being done, such as another runtime than
    containerd or a hosts.toml of somebody else.
  - Does not restart containerd; see M(kfv_containerd_restart). Where it will have to be restarted, the Node
    (C(kubeflow_node_name), or what the inventory calls the host) must be ready, if a kubeconfig is known.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  images:
    description: What kfv_images returned; a rule for any registry reaches those that it found.
    type: dict
    default: {}
  write:
    description: Whether to write. If not, problems are returned and do not fail the task.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: Everything but writing is done, also containerd's judgement of the new configuration.
  diff_mode:
    support: full
    description: Shows every file, without the credentials that it may hold.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Name the mirror
  kfv_containerd:
    settings: "{{ __image_mirror_inventory.settings }}"
    images: "{{ __image_mirror_images }}"
  register: __image_mirror_containerd
  notify: Put the registries of containerd into use
"""

RETURN = r"""
restart:
  description: Whether containerd has to be restarted; hosts.toml files alone are read at each pull.
  returned: success
  type: bool
  sample: true
problems:
  description: What keeps it from being done, each as what was found, what is needed and what to do.
  returned: always
  type: list
  elements: dict
  sample: []
copies:
  description: Copies that were made of files of others, beside them.
  returned: changed
  type: list
  elements: str
  sample: ["/etc/containerd/config.toml.kubeflow-volcano-20261122T010203Z"]
"""
