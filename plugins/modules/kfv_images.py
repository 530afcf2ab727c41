"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_images
short_description: Find out what becomes of the names of images
description:
  - Finds every image reference in the manifests of all components that are to be rolled out, and shows what each
    override and each mirror rule makes of them; rules that fit nothing, images that no rule fits, images that are gone
    upstream and images that the mirror does not serve are warned of.
  - Fails with all rules that cannot be followed. With C(image_mirror_probe) it asks the mirror for each image, no more
    often than the mirror allows, and fails with all that are missing.
  - Leaves what it downloads and renders in the cache of the machine that runs Ansible.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  probe:
    description: Whether to ask the mirror where C(image_mirror_probe) says so.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: Changes nothing in the cluster, in check mode or out of it.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __image_mirror_inventory

- name: Show what becomes of the images
  kfv_images:
    settings: "{{ __image_mirror_inventory.settings }}"
"""

RETURN = r"""
rules:
  description: Each override and rule with the number of images that it renames, and one of them before and after.
  returned: success
  type: list
  elements: dict
  sample: [{"rule": "preset daocloud", "images": 90, "before": "docker.io/library/mysql:8.0.29",
            "after": "m.daocloud.io/docker.io/library/mysql:8.0.29"}]
images:
  description: How many different images there are.
  returned: success
  type: int
  sample: 93
registries:
  description: The registries that nodes ask, or would ask but for a mirror that their runtime knows.
  returned: success
  type: list
  elements: str
  sample: [docker.io, gcr.io]
requests:
  description: How many requests were sent to the mirror; 0 where it was not asked.
  returned: success
  type: int
  sample: 0
"""
