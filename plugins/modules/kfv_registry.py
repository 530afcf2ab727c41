"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_registry
short_description: Fill a registry of one's own with the images of a roll-out
description:
  - Copies every image of all components that are to be rolled out, those of the validation and
    C(image_mirror_registry_images) below C(image_mirror_registry), each under its whole name such as
    C(registry.lan:5000/docker.io/library/busybox:1.36), with all its architectures and its digests, by C(skopeo).
  - Asks both sides first. What is there with the digest of the source is left alone, so that an interrupted run is
    taken up where it ended; after each copy the registry's digest is held against the source's.
  - Copies one image after the other, no faster than the source allows. What it refuses (401, 403, 404) is not asked for
    again, after C(image_mirror_refusals) refusals nothing is; a 429 is waited for once.
  - Stops where the registry of one's own refuses, does not answer or is not trusted.
  - Runs on the machine that runs Ansible. Credentials are taken from a file only, and shown nowhere.
version_added: "0.4.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode both sides are asked, what would be copied is listed, and nothing is copied.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Copy what the registry lacks
  kfv_registry:
    settings: "{{ __image_mirror_inventory.settings }}"
"""

RETURN = r"""
copied:
  description: The images that were copied, by their own names; in check mode those that would be.
  returned: when settings and sources can be used
  type: list
  elements: str
  sample: ["docker.io/library/busybox:1.36"]
present:
  description: The images that were there already.
  returned: when settings and sources can be used
  type: list
  elements: str
refused:
  description: Images that the source refused, with its answer.
  returned: when settings and sources can be used
  type: dict
failed:
  description: Images that were not copied for another reason.
  returned: when settings and sources can be used
  type: dict
left:
  description: Images that were not tried after the copying had to stop.
  returned: when settings and sources can be used
  type: dict
skipped:
  description: Images that were known to be gone or not served.
  returned: when settings and sources can be used
  type: dict
stopped:
  description: Why not all were tried.
  returned: when settings and sources can be used
  type: str
  sample: ""
"""
