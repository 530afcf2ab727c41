"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_scenario
short_description: Play scenarios of gang scheduling on a rehearsal cluster, and show them beside their controls
description:
  - Gives the rehearsal cluster the simulated nodes that a case needs, plays it in namespaces of its own, judges what
    the watch saw, and removes everything that it made.
version_added: "0.1.0"
options:
  state:
    description:
      - V(known) refuses scenarios that are not known, clusters that are no rehearsal, and those that lack the kinds of
        jobs that the scenarios are about.
      - V(settled) waits until Volcano's scheduler has read the configuration that stands in its ConfigMap.
      - V(played) plays the cases of one wiring, one after the other, and once more what could not be judged because
        pods went by another hand, a watch broke off or a scheduler started anew meanwhile.
      - V(shown) prints what earlier tasks returned, writes it to files, and fails when a case is not as claimed.
    type: str
    required: true
    choices: [known, settled, played, shown]
  scenarios:
    description: Names of scenarios; empty means all.
    type: list
    elements: str
    default: []
  wiring:
    description:
      - Who schedules the jobs of the training operator just now. Only cases that ask for it are played.
      - Cases to which it is no matter are played with V(volcano).
    type: str
    choices: [none, volcano]
  kubeconfig:
    description: File with the cluster's address and credentials.
    type: path
  context:
    description: Context in that file, where it is not the current one.
    type: str
  outcomes:
    description: What earlier tasks returned, to be shown.
    type: list
    elements: dict
    default: []
  report_directory:
    description: Where C(gang-demo.json) and a picture of each scenario are written.
    type: path
    default: reports
attributes:
  check_mode:
    support: partial
    description: Nothing is played.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Play the gangs of one scenario
  kfv_scenario:
    state: played
    scenarios: [two-jobs]
    wiring: volcano
    kubeconfig: ~/.kube/config
  register: gangs

- name: Show them
  kfv_scenario:
    state: shown
    outcomes: "{{ gangs.outcomes }}"
"""

RETURN = r"""
outcomes:
  description:
    - How each case came out, with the C(problem) where it is not as claimed, or where that cannot be told; C(judged) is
      then false.
  returned: when O(state=played), outside check mode
  type: list
  elements: dict
files:
  description: What was written.
  returned: when O(state=shown)
  type: list
  elements: str
"""
