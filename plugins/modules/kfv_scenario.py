"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_scenario
short_description: Play scenarios of gang scheduling on the rehearsal cluster, and show how they ended
description:
  - A step of C(kubeflow_volcano.platform.gang_demo), a playbook, which is what you call.
  - Nothing of a scenario stays in the cluster. Other clusters than a rehearsal cluster are refused.
version_added: "0.1.0"
options:
  state:
    description: >-
      V(known) refuses unknown scenarios, V(settled) waits until Volcano's scheduler has read its configuration,
      V(played) plays, and V(shown) reports the outcomes.
    type: str
    choices: [known, settled, played, shown]
    required: true
  scenarios:
    description: Names of scenarios; empty means all.
    type: list
    elements: str
    default: []
  wiring:
    description: Which scheduler the training operator uses meanwhile. Required for V(played).
    type: str
    choices: [none, volcano]
  kubeconfig:
    description: Kubeconfig of the rehearsal cluster; without one, the default of kubectl.
    type: path
  context:
    description: Context of the kubeconfig; without one, its current context.
    type: str
  outcomes:
    description: Outcomes of V(played), for V(shown).
    type: list
    elements: dict
    default: []
  report_directory:
    description: Directory for the report.
    type: path
    default: reports
attributes:
  check_mode:
    support: partial
    description: In check mode names of scenarios are checked, and nothing is played.
  diff_mode:
    support: none
    description: No diff is shown.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Play one scenario with gang scheduling
  kubeflow_volcano.platform.kfv_scenario:
    state: played
    scenarios: [two-jobs]
    wiring: volcano
    kubeconfig: "{{ kubeflow_kubeconfig }}"
"""

RETURN = r"""
outcomes:
  description: What happened in each case, and whether that is what the scenario claims.
  returned: with state played
  type: list
  elements: dict
files:
  description: Files of the report.
  returned: with state shown
  type: list
  elements: str
"""
