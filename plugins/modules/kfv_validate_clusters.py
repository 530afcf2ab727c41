"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_validate_clusters
short_description: Put what was found on several clusters together
description:
  - Shows a line for each cluster and every finding once, with the clusters that it was found on, and writes a report as
    JSON, HTML, Markdown and JUnit XML, which leads to the report of each cluster.
  - A cluster that does not answer, or whose task failed, is in it and says so.
version_added: "0.4.0"
options:
  clusters:
    description:
      - Hosts of the inventory that stand for the clusters.
      - Each has what C(kfv_validate) returned under the name C(__validation_run).
    type: list
    elements: str
    required: true
  report_directory:
    description: Where the report is written; that of each cluster lies in a directory of its name there.
    type: path
    default: reports
attributes:
  check_mode:
    support: partial
    description: Shows the summary and writes no report.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Put the verdicts on all clusters together
  kfv_validate_clusters:
    clusters: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
exit_code:
  description: The worst of all clusters; the same codes as of C(python -m validators).
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
    json: reports/clusters-latest.json
    md: reports/clusters-latest.md
    html: reports/clusters-latest.html
    xml: reports/clusters-latest.xml
"""
