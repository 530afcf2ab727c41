"""kfv_host_preflight: the hosts that were looked at are judged, all at once. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display

try:
    from kubeflow_volcano.hosts.facts import Host
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.progress import silent
    from kubeflow_volcano.rollout.desired import desired
    from kubeflow_volcano.rollout.images.report.image_list import report as images_of
    from kubeflow_volcano.rollout.settings.hosts import node_name
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
    from validators.core.expectations import Expectations
    from validators.core.inventory import Inventory
    from validators.hosts.each import named
    from validators.hosts.system import ALWAYS_BUILT, ARCHITECTURES
    from validators.report.console import render
    from validators.report.document import Report
    from validators.run.preflight import Options, preflight, repairs
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "names": {"type": "list", "elements": "str", "default": []},
    "select": {"type": "list", "elements": "str", "default": []},
    "waivers": {"type": "dict", "default": {}},
    "strict": {"type": "bool", "default": False},
    "repair": {"type": "bool", "default": False},
    "report_directory": {"type": "path", "default": "reports"},
}

_LOOK = "__preflight_look"
"""Under what the role registers answers of kfv_host_facts."""
_MOST_NAMES = 8


class ActionModule(ActionBase):
    """Judge what kfv_host_facts found, from the Python that runs Ansible."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Report every finding. A check that fails does not fail the task: `exit_code` says what the gate is told."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        variables = task_vars or {}
        try:
            settings = parse(arguments["settings"])
            options = _options(settings, arguments, check=self._task.check_mode)
            inventory = _with_images(_inventory(settings, arguments, variables), settings)
            report = preflight(options, _expectations(settings), inventory, silent)
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe(), "exit_code": int(error.exit_code)}
        document = report.as_dict()
        offered = repairs(report.results)
        for line in _offered(offered, asked=options.repair):
            Display().display(f"  {line}")
        Display().display(f"\n{render(document, report.files, colour=ANSIBLE_COLOR)}")
        return result | {
            "changed": False,
            "exit_code": int(report.exit_code),
            "msg": _told(report),
            "report": document,
            "files": dict(report.files),
            "repairs": offered,
        }


def _options(settings: Settings, arguments: Mapping[str, Any], *, check: bool) -> Options:
    """In check mode no report is written."""
    directory = arguments["report_directory"]
    return Options(
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        select=tuple(arguments["select"]),
        waive=arguments["waivers"],
        strict=arguments["strict"],
        repair=arguments["repair"],
        report_dir=None if check or not directory else Path(directory),
    )


def _expectations(settings: Settings) -> Expectations:
    return Expectations(release=settings.release.version, kubernetes=settings.release.kubernetes)


def _inventory(settings: Settings, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> Inventory:
    asked: Sequence[str] = arguments["hosts"]
    groups: Mapping[str, Sequence[str]] = variables["groups"]
    return Inventory(
        hosts=tuple(_host(name, groups, variables["hostvars"][name]) for name in asked),
        left_out=tuple(sorted({*groups["all"]} - {*asked, "localhost"})),
        kubernetes=settings.plan.kubernetes,
        architectures=settings.plan.architectures,
        minimum_cpu=settings.plan.minimum_cpu,
        minimum_memory_gb=settings.plan.minimum_memory_gb,
        minimum_storage_gb=settings.plan.minimum_storage_gb,
        components=frozenset(item.name for item in settings.components),
        mirror_mode=settings.mirror.mode,
        mirror_names=tuple(arguments["names"]),
        storage_mode=settings.storage.mode,
        addresses={name: str(variables["hostvars"][name].get("ansible_host") or name) for name in asked},
    )


def _with_images(inventory: Inventory, settings: Settings) -> Inventory:
    """With the images that are known not to be built for the hosts; listed only where some host is no amd64."""
    machines = {host.facts.machine.architecture for host in inventory.reached if host.facts and host.facts.machine}
    wanted = {ARCHITECTURES.get(machine, ALWAYS_BUILT) for machine in machines} - {ALWAYS_BUILT}
    if not wanted & {*settings.plan.architectures}:
        return inventory
    try:
        entries = images_of(desired(settings, settings.components, silent).images, settings).entries
    except ProblemsError as error:
        return replace(inventory, images_unknown=error.problems[0].found.rstrip("."))
    lacking = {name: tuple(item.use.original for item in entries if name in item.judgement.missing) for name in wanted}
    return replace(inventory, lacking=lacking)


def _host(name: str, groups: Mapping[str, Sequence[str]], variables: Mapping[str, Any]) -> Host:
    own = frozenset(group for group, members in groups.items() if name in members)
    return Host.decode(name, node_name(name, variables), own, variables.get(_LOOK))


def _offered(offered: Mapping[str, Sequence[Mapping[str, str]]], *, asked: bool) -> Iterator[str]:
    """Each repair once, with the hosts that need it."""
    hosts: dict[str, list[str]] = {}
    for host, items in offered.items():
        for item in items:
            hosts.setdefault(_words(item), []).append(host)
    if hosts:
        yield "to be repaired:" if asked else "can be repaired by playbooks/hosts.yml with preflight_repair: true:"
        yield from (f"  {what}: {named(names)}" for what, names in hosts.items())


def _words(item: Mapping[str, str]) -> str:
    if item["kind"] == "module":
        return f"load {item['name']}, now and at boot"
    if item["kind"] == "sysctl":
        return f"set {item['name']} = {item['value']}, now and at boot"
    return "turn swap off, now and at boot"


def _told(report: Report) -> str:
    """The verdict, and what stands in its way, in a few lines; the rest is in the report."""
    lines = [f"preflight: verdict {report.summary.verdict}, exit code {int(report.exit_code)}"]
    for status in ("fail", "error", "warn"):
        names = [f"{item.check.id} {item.check.slug}" for item in report.results if item.outcome.status == status]
        if names:
            lines.append(f"{status}: {', '.join(names[:_MOST_NAMES])}{' …' if len(names) > _MOST_NAMES else ''}")
    lines += [str(report.unwritten)] if report.unwritten else []
    lines += [f"read {report.files['md']}"] if report.files else []
    return "\n".join(lines)
