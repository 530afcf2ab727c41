"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_validate
short_description: Judge a cluster, by reading it and by experiment
description:
  - Runs the validators, prints their summary, and writes a report as JSON, HTML, Markdown and JUnit XML.
  - What a check creates for a moment is removed again, also after an interruption.
  - A check that fails does not fail the task, so that a playbook can go on with the findings; a following task
    compares C(exit_code) with 0.
version_added: "0.1.0"
options:
  settings:
    description: What kfv_settings returned under this name.
    type: dict
    required: true
  cluster:
    description:
      - Name of the cluster where it is one of several, such as its host in the inventory.
      - Lines begin with it then, its report lies in a directory of that name in C(report_directory), and its summary
        is left to M(kfv_validate_clusters).
    type: str
    default: ""
  select:
    description: Checks to run, by id, slug or family; empty runs all.
    type: list
    elements: str
    default: []
  waivers:
    description: Checks whose failure is accepted, with the reason.
    type: dict
    default: {}
  report_directory:
    description: Where the reports are written.
    type: path
    default: reports
  baseline:
    description:
      - JSON file of an earlier report; this one says what is new, fixed and still there.
      - Empty compares nothing.
    type: path
    default: ""
  strict:
    description: Whether warnings end in an exit code other than 0.
    type: bool
    default: false
  read_only:
    description: Whether to leave out everything that creates something for a moment.
    type: bool
    default: false
  probe_namespace:
    description: An existing namespace for probes; empty makes one for the run.
    type: str
    default: ""
  network_per_node:
    description: Whether a pod on every node tries the way to pods of others, check E2.
    type: bool
    default: false
  exec_in_pods:
    description: Whether to ask the release's own pods, by a command in them, if they may write to their volumes.
    type: bool
    default: false
  login_as:
    description: The e-mail address of a user who signs in at the gateway, check E9. Empty tries nothing.
    type: str
    default: ""
  login_password_file:
    description:
      - File of mode 0600 with that user's password, which is no argument itself.
      - Empty takes the environment variable C(KFV_LOGIN_PASSWORD), else the account that the roll-out keeps.
    type: path
    default: ""
  gateway_url:
    description: URL of the gateway. Empty goes to one of its pods, through the API server.
    type: str
    default: ""
  twice:
    description: Whether to make two whole passes, whose verdicts must agree (I4).
    type: bool
    default: false
attributes:
  check_mode:
    support: partial
    description: Judges by reading only, and writes no report.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Refuse settings that cannot work
  kfv_settings:
  register: __validation_inventory

- name: Judge storage and gang scheduling
  kfv_validate:
    settings: "{{ __validation_inventory.settings }}"
    select: [storage, gang]
  register: __validation_run
"""

RETURN = r"""
problems:
  description: Why nothing could be judged, in three parts each.
  returned: failure
  type: list
  elements: dict
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
  sample:
    json: reports/latest.json
    md: reports/latest.md
    html: reports/latest.html
    xml: reports/latest.xml
"""
