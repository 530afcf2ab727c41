"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_validate
short_description: Validate a cluster, by reading it and by experiment
description:
  - Runs the validators, prints their summary, and writes a report as JSON, HTML, Markdown and JUnit XML.
  - Objects that checks create are deleted again, also after an interruption.
  - A failed check does not fail the task, so that a playbook can use the findings; a later task compares C(exit_code)
    with 0.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
  cluster:
    description:
      - Name of the cluster if it is one of several, such as its host in the inventory.
      - Each line of progress then begins with it, its report is in a directory of that name in C(report_directory), and
        no summary is printed.
    type: str
    default: ""
  select:
    description: Checks to run, by id, slug or family; empty means all.
    type: list
    elements: str
    default: []
  waivers:
    description: Checks whose failure is accepted, with the reason.
    type: dict
    default: {}
  report_directory:
    description: Directory for the reports.
    type: path
    default: reports
  baseline:
    description:
      - JSON file of an earlier report; the new report marks findings as new, fixed or unchanged.
      - Empty means no comparison.
    type: path
    default: ""
  language:
    description: Language of everything in reports that people read; JSON is English in every language.
    type: str
    choices: [en, zh]
    default: en
  strict:
    description: Warnings have an exit code other than 0.
    type: bool
    default: false
  read_only:
    description: Skip all checks that create objects.
    type: bool
    default: false
  probe_namespace:
    description: Existing namespace for probes; if empty, one is created for the run and deleted.
    type: str
    default: ""
  network_per_node:
    description: Test the pod network from a pod on every node, check E2.
    type: bool
    default: false
  exec_in_pods:
    description: Test with a command in the release's own pods whether they can write to their volumes.
    type: bool
    default: false
  acceptance:
    description: Create the project's examples one after the other, and see that each runs or completes.
    type: bool
    default: false
  login_as:
    description: E-mail address of a user for a login at the gateway, check E9; empty means no login.
    type: str
    default: ""
  login_password_file:
    description:
      - File of mode 0600 with that user's password; the password itself is never an argument.
      - Empty means the environment variable C(KFV_LOGIN_PASSWORD), else the random password that the roll-out keeps in
        the cluster.
    type: path
    default: ""
  gateway_url:
    description: URL of the gateway; empty means one of its pods, through the API server.
    type: str
    default: ""
  rollout_problems:
    description: What was found wrong by the roll-out before; the report says so, and no check changes for it.
    type: list
    elements: str
    default: []
  twice:
    description: Make two complete passes; their verdicts must agree (I4).
    type: bool
    default: false
attributes:
  check_mode:
    support: partial
    description: Only reads, and writes no report.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Validate the settings
  kubeflow_volcano.platform.kfv_settings:
  register: __validation_inventory

- name: Validate storage and gang scheduling
  kubeflow_volcano.platform.kfv_validate:
    settings: "{{ __validation_inventory.settings }}"
    select: [storage, gang]
  register: __validation_run
"""

RETURN = r"""
problems:
  description: Why the cluster could not be validated, in three parts each.
  returned: failure
  type: list
  elements: dict
exit_code:
  description: 0 if the gate is met, else why not; the exit codes of C(kubeflow-volcano validate).
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
  sample:
    json: reports/latest.json
    md: reports/latest.md
    html: reports/latest.html
    xml: reports/latest.xml
"""
