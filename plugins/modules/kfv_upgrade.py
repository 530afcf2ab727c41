"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kfv_upgrade
short_description: Plan an upgrade, or carry it out, with a report on both
description:
  - Without O(plan) it shows by server-side dry runs what the upgrade would create, change and remove, which stored
    versions of custom resources have to be migrated, which images no pod uses yet, what the upgrade brings by the
    catalog, and which jobs run. It refuses what is no upgrade in one step, and running jobs.
  - With O(plan) it rolls the settings out, removes what they no longer declare, and completes the report.
  - A run that was interrupted is continued by the next one.
version_added: "0.1.0"
options:
  settings:
    description: The value that kfv_settings returned under this name.
    type: dict
    required: true
  report_directory:
    description: Where upgrade.json, upgrade.md and upgrade.html are written, in check mode, too.
    type: path
    required: true
  prune:
    description: Whether objects that are no longer declared are removed, even if C(kubeflow_prune) is false.
    type: bool
    default: true
  running_jobs:
    description: Whether jobs may run meanwhile.
    type: str
    choices: [refuse, allow]
    default: refuse
  plan:
    description: RV(plan) of the task that planned; the upgrade is carried out.
    type: dict
  backup:
    description: Directory of the backup, for the report.
    type: str
    default: ""
attributes:
  check_mode:
    support: partial
    description: In check mode an upgrade is planned, and steps that have to be confirmed are described only.
  diff_mode:
    support: full
    description: An upgrade shows each created or changed object before and after, without the values of Secrets.
author:
  - The kubeflow-volcano authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Plan the upgrade
  kubeflow_volcano.platform.kfv_upgrade:
    settings: "{{ __upgrade_inventory.settings }}"
    report_directory: reports
  register: __upgrade_plan

- name: Upgrade
  kubeflow_volcano.platform.kfv_upgrade:
    settings: "{{ __upgrade_inventory.settings }}"
    report_directory: reports
    plan: "{{ __upgrade_plan.plan }}"
"""

RETURN = r"""
plan:
  description: The document of upgrade.json, kfv.upgrade/v1. Its C(needed) is false if there is nothing to do.
  returned: when it was planned
  type: dict
reports:
  description: Path of each written file, by its name.
  returned: success
  type: dict
  sample: {upgrade.md: reports/upgrade.md}
started:
  description: Whether the upgrade had begun to change the cluster.
  returned: when it was carried out
  type: bool
way_in:
  description: >-
    Lines for a person: the address at which to sign in, the user, and the command that reads the password. Empty
    without a gateway of this inventory, and after problems.
  returned: when objects were sent
  type: list
  elements: str
"""
