"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_scenario
short_description: Watch what becomes of a TFJob with and without gang scheduling
description:
  - Runs a TFJob of two parameter servers and four workers of one GPU each in a namespace of its own.
  - Watches it until the picture is settled, compares it with what the case claims, and removes everything.
version_added: "0.1.0"
options:
  case:
    description:
      - V(default) claims that one worker starts and three wait, on one GPU under the default scheduler.
      - V(gang-short) claims that nobody starts, on one GPU under gang scheduling.
      - V(gang-fits) claims that all six start, on four GPUs under gang scheduling.
      - The cluster must already be set up for it.
    type: str
    choices: [default, gang-short, gang-fits]
  kubeconfig:
    description: File with the cluster's address and credentials.
    type: path
  context:
    description: Context in that file, where it is not the current one.
    type: str
  observations:
    description: What earlier tasks returned; shown side by side. The task fails when one of them is not as claimed.
    type: list
    elements: dict
attributes:
  check_mode:
    support: partial
    description: An experiment is skipped.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: See whether an incomplete gang is withheld
  kfv_scenario:
    case: gang-short
    kubeconfig: ~/.kube/config
  register: withheld

- name: Show it
  kfv_scenario:
    observations: ["{{ withheld.observation }}"]
"""

RETURN = r"""
observation:
  description: What was seen, with the C(problem) where it is not as claimed.
  returned: when O(case) is given, outside check mode
  type: dict
"""
