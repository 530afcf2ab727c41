"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_bundle
short_description: Put everything that an installation needs into one directory
description:
  - The step of the role C(kubeflow_volcano.platform.bundle), which is what you call.
  - Writes manifests, kustomize, Python wheels and images for the inventory's components and architectures into
    C(kubeflow_bundle), and their sizes, sums and sources into C(bundle.json) there.
  - What is there and has its sum stays; what is missing or damaged is fetched. An interrupted run is continued.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode it lists what would be fetched. Manifests and kustomize are fetched into the cache.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Fetch what is missing or damaged
  kubeflow_volcano.platform.kfv_bundle:
    settings: "{{ __bundle_inventory.settings }}"
"""

RETURN = r"""
directory:
  description: The bundle.
  returned: when settings and sources are usable
  type: str
fetched:
  description: Files and images that were fetched; in check mode those that would be.
  returned: when settings and sources are usable
  type: list
  elements: str
  sample: ["kustomize/kustomize_v5.2.1_linux_amd64.tar.gz", "docker.io/library/busybox:1.36"]
kept:
  description: Files and images that were there and whole.
  returned: when settings and sources are usable
  type: list
  elements: str
sizes:
  description: Bytes of each folder of a complete bundle.
  returned: when settings and sources are usable
  type: dict
sum:
  description: The sha256 of SHA256SUMS of a complete bundle.
  returned: when settings and sources are usable
  type: str
"""
