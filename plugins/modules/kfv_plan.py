"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_plan
short_description: Tell what a roll-out would do, without a cluster
description:
  - Renders all chosen components as the roll-out would, and writes what will happen as JSON and Markdown, with the list
    of images for people, for programs, for skopeo and for crane.
  - Judges versions, removed APIs, images, sums of requests, known defects and published secrets.
  - Contacts no cluster and no registry. Leaves what it downloads and renders in the cache of the machine that runs
    Ansible.
version_added: "0.2.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: In check mode the plan is shown and not written.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __plan_inventory

- name: Tell what a roll-out would do
  kfv_plan:
    settings: "{{ __plan_inventory.settings }}"
"""

RETURN = r"""
exit_code:
  description:
    - Exit code shared by every command. 0 is a plan without failures, 1 one with, 2 settings or sources that cannot be
      used, 7 a plan that could not be written.
  returned: always
  type: int
  sample: 0
plan:
  description: The document of plan.json, kfv.plan/v1.
  returned: success
  type: dict
files:
  description: Where each file was written, by its name.
  returned: success
  type: dict
  sample: {plan.md: reports/plan.md}
"""
