"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_host_preflight
short_description: Judge the hosts of the inventory, all at once
description:
  - Judges what kfv_host_facts found on each host, and the cluster where there is a kubeconfig.
  - Prints a summary in which hosts with the same finding are one line, and writes a report as JSON and Markdown.
  - Nothing is changed. What could be repaired is listed, and returned for kfv_host_repair.
  - A check that fails does not fail the task; a following task compares C(exit_code) with 0.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  hosts:
    description: Names of the hosts that were asked, whether they answered or not.
    type: list
    elements: str
    required: true
  names:
    description: Names of mirrors that the hosts were asked to resolve.
    type: list
    elements: str
    default: []
  select:
    description: Checks to judge, by id, slug or family; empty judges all.
    type: list
    elements: str
    default: []
  waivers:
    description: Checks whose failure is accepted, with the reason.
    type: dict
    default: {}
  strict:
    description: Whether warnings end in an exit code other than 0.
    type: bool
    default: false
  repair:
    description: Whether repairs follow, so that findings that they mend do not stand in the way.
    type: bool
    default: false
  report_directory:
    description: Where the reports are written; empty writes none.
    type: path
    default: reports
attributes:
  check_mode:
    support: partial
    description: Judges as always, and writes no report.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Judge the hosts
  kfv_host_preflight:
    settings: "{{ __preflight_inventory.settings }}"
    hosts: "{{ ansible_play_hosts_all }}"
  register: __preflight_run
  run_once: true
"""

RETURN = r"""
exit_code:
  description: 0 when the gate is met, else why it is not; the same codes as of C(python -m validators).
  returned: always
  type: int
report:
  description: The report, as in the JSON file.
  returned: success
  type: dict
files:
  description: Paths of the written reports by format.
  returned: success
  type: dict
  sample: {"json": "reports/preflight-latest.json", "md": "reports/preflight-latest.md"}
repairs:
  description: What can be repaired, by host.
  returned: success
  type: dict
"""
