"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_plan
short_description: Show what a roll-out would do, without a cluster
description:
  - Renders all chosen components as the roll-out does, and writes the plan as JSON and Markdown, with lists of images
    for people, programs, skopeo and crane.
  - Judges versions, removed APIs, images, sums of requests, known defects and published secrets.
  - Contacts no cluster and no registry. Downloads and rendered manifests stay in the cache of the machine that runs
    Ansible.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode the plan is shown and not written.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Validate the settings
  kubeflow_volcano.platform.kfv_settings:
  register: __plan_inventory

- name: Show what a roll-out would do
  kubeflow_volcano.platform.kfv_plan:
    settings: "{{ __plan_inventory.settings }}"
"""

RETURN = r"""
exit_code:
  description:
    - 0 if no finding fails, 1 if one fails, 2 for unusable settings or sources, 7 if the plan could not be written; all
      commands share these exit codes.
  returned: always
  type: int
  sample: 0
plan:
  description: The document of plan.json, kfv.plan/v1.
  returned: success
  type: dict
files:
  description: Path of each written file, by its name.
  returned: success
  type: dict
  sample: {plan.md: reports/plan.md}
"""
