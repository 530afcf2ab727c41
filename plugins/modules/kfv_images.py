"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_images
short_description: Show the new names of images
description:
  - Finds every image reference in the manifests of the chosen components, and shows how many each override and each
    mirror rule renames. Warns of rules that match nothing, images that no rule matches, images that are gone upstream
    and images that the mirror does not serve.
  - Fails with all rules that cannot be applied. With C(image_mirror_probe) it checks each image on the mirror, within
    the mirror's rate limit, and fails with all missing images.
  - Downloads and rendered manifests stay in the cache of the machine that runs Ansible.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
  probe:
    description: Check the mirror if C(image_mirror_probe) is set.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: It changes nothing in the cluster anyway.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Validate the settings
  kubeflow_volcano.platform.kfv_settings:
  register: __image_mirror_inventory

- name: Show the new names of images
  kubeflow_volcano.platform.kfv_images:
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
  description: The registries that nodes pull from, or would without a mirror in their runtime.
  returned: success
  type: list
  elements: str
  sample: [docker.io, gcr.io]
requests:
  description: How many requests were sent to the mirror.
  returned: success
  type: int
  sample: 0
"""
