"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_validate_clusters
short_description: Report the verdicts on several clusters together
description:
  - A step of the role C(kubeflow_volcano.platform.validation), which is what you call.
  - Reads what the role registered for each cluster, prints a line for each of them and every finding once.
version_added: "0.1.0"
options:
  clusters:
    description: Hosts of the inventory that are clusters.
    type: list
    elements: str
    required: true
  report_directory:
    description: Directory for the report.
    type: path
    default: reports
  language:
    description: Language of everything in the report that people read; JSON is English in every language.
    type: str
    choices: [en, zh]
    default: en
  rollout:
    description: Variable in which the result of each cluster's roll-out is registered; empty without a roll-out.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: In check mode no report is written.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Report the verdicts on all clusters
  kubeflow_volcano.platform.kfv_validate_clusters:
    clusters: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
exit_code:
  description: The worst exit code of the clusters; 0 if every gate is met.
  returned: always
  type: int
report:
  description: The report, of the schema kfv.clusters/v1.
  returned: when it was written
  type: dict
files:
  description: Files of the report, by format.
  returned: when it was written
  type: dict
"""
