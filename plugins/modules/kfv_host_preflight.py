"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_host_preflight
short_description: Look at hosts, and judge all of them together
description:
  - The steps of the role C(kubeflow_volcano.platform.preflight), which is what you call.
  - A host that does not answer does not fail V(look), and a check that fails does not fail V(judge); the gate of the
    role compares C(exit_code) with 0.
version_added: "0.1.0"
options:
  step:
    description: What to do, in this order. None of them changes a host.
    type: str
    choices: [plan, look, judge, list]
    required: true
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    default: {}
  hosts:
    description: Hosts of the inventory to judge.
    type: list
    elements: str
    default: []
  plan:
    description: The result of V(plan).
    type: dict
    default: {}
  select:
    description: Checks to run, by id, slug or family; empty means all.
    type: list
    elements: str
    default: []
  waivers:
    description: Checks whose failure is accepted, with the reason.
    type: dict
    default: {}
  language:
    description: Language of everything in the report that people read; JSON is English in every language.
    type: str
    choices: [en, zh]
    default: en
  strict:
    description: Whether warnings fail the gate.
    type: bool
    default: false
  repair:
    description: Whether repairs follow. Then findings that they repair do not fail the gate.
    type: bool
    default: false
  report_directory:
    description: Directory for the report.
    type: path
    default: reports
attributes:
  check_mode:
    support: full
    description: In check mode no report is written.
  diff_mode:
    support: none
    description: There is no change to show.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Plan what to look at
  kubeflow_volcano.platform.kfv_host_preflight:
    step: plan
    settings: "{{ __preflight_inventory.settings }}"
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
exit_code:
  description: 0 if the gate is met.
  returned: with step judge
  type: int
repairs:
  description: Repairs that the role can make, by host.
  returned: with step judge
  type: dict
facts:
  description: Facts of the host; C(trouble) in their place says why there are none.
  returned: with step look
  type: dict
"""
