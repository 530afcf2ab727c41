"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_registry
short_description: Copy the images of a roll-out into a registry of your own
description:
  - Copies every image of the chosen components, those of the validation and C(image_mirror_registry_images) below
    C(image_mirror_registry), each with its complete name such as C(registry.lan:5000/docker.io/library/busybox:1.36),
    with all its architectures and its digests, by C(skopeo).
  - Compares source and registry first. An image that the registry has with the source's digest is not copied, so that
    an interrupted run continues where it ended; after each copy the digests are compared again.
  - Copies one image after the other, within the rate limit of the source. An image that the source refuses (401, 403,
    404) is not requested again, and after C(image_mirror_refusals) refusals copying stops; after a 429 it waits once.
  - Stops if your registry refuses, does not answer or is not trusted.
  - Runs on the machine that runs Ansible. Credentials come from a file only, and are never shown.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode missing images are listed, and nothing is copied.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Copy missing images into the registry
  kubeflow_volcano.platform.kfv_registry:
    settings: "{{ __image_mirror_registry_inventory.settings }}"
"""

RETURN = r"""
copied:
  description: Copied images, by their own names; in check mode those that would be copied.
  returned: when settings and sources are usable
  type: list
  elements: str
  sample: ["docker.io/library/busybox:1.36"]
present:
  description: Images that the registry had already.
  returned: when settings and sources are usable
  type: list
  elements: str
refused:
  description: Images that the source refused, with its answer.
  returned: when settings and sources are usable
  type: dict
failed:
  description: Images that were not copied for another reason.
  returned: when settings and sources are usable
  type: dict
left:
  description: Images that were not tried, because copying stopped.
  returned: when settings and sources are usable
  type: dict
skipped:
  description: Images that are known to be gone or not to be served.
  returned: when settings and sources are usable
  type: dict
stopped:
  description: Why copying stopped; empty if it did not.
  returned: when settings and sources are usable
  type: str
  sample: ""
"""
