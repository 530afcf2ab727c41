"""kfv_host_preflight: hosts are looked at, then judged together. The steps of the role preflight."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.verdict import result_of
from kubeflow_volcano.catalog.images.mirrors import load_mirror
from kubeflow_volcano.hosts.facts import Host
from kubeflow_volcano.hosts.kernel import SYSCTLS, modules_for
from kubeflow_volcano.hosts.network import targets
from kubeflow_volcano.hosts.reaching import kind_of
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.images.report.image_list import report as images_of
from kubeflow_volcano.rollout.images.report.judge import mirrored_elsewhere
from kubeflow_volcano.rollout.settings.hosts import hosts_of_cluster, node_name
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.inventory import Inventory, Mirrored
from kubeflow_volcano.validators.hosts.system import ALWAYS_BUILT, ARCHITECTURES
from kubeflow_volcano.validators.run.preflight import Options, preflight, repairs

_LOOK = "__preflight_look"
"""Variable in which the role registers each host's answer of the step look."""
_REPAIRED = "__preflight_repaired"
"""The same of kfv_host_repair."""
_MOST_CHARACTERS = 500


class ActionModule(Action):
    """Plan what to look at, look at each host, judge all of them, and list repairs that were made.

    A host that does not answer does not fail the step look, and a check that fails does not fail the step judge: the
    role's gate reads `exit_code`. `hosts` are names in the inventory; `plan` is the result of the step plan.
    """

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one step."""
        if arguments["step"] == "look":
            return self._look(arguments["plan"])
        if arguments["step"] == "list":
            return self._list(arguments["hosts"])
        settings = self.settings_with_secrets(arguments["settings"])
        if arguments["step"] == "plan":
            return self._plan(settings, arguments["hosts"])
        return self._judge(settings, arguments)

    def _plan(self, settings: Settings, hosts: Sequence[str]) -> dict[str, Any]:
        """Arguments of kfv_host_facts; those that differ from host to host are by host."""
        own = settings.storage.mode != "existing"
        base = settings.storage.base_directory
        return {
            "modules": list(modules_for(item.name for item in settings.components)),
            "sysctls": [item.name for item in SYSCTLS],
            "names": list(dict.fromkeys(_mirrors(settings))),
            "connects": targets(
                self._addresses(hosts),
                self.groups.get("control_plane", []),
            ),
            "paths": {
                host: {"volumes": str(self.variables_of(host).get("local_path_base_directory") or base)} if own else {}
                for host in hosts
            },
        }

    def _addresses(self, hosts: Sequence[str]) -> dict[str, str]:
        return {host: str(self.variables_of(host).get("ansible_host") or host) for host in hosts}

    def _look(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Facts of the host, or the trouble that kept it from answering, and when the question and the answer were."""
        same = {name: plan.get(name, []) for name in ("modules", "sysctls", "names")}
        own = {name: plan.get(name, {}).get(self.host, none) for name, none in (("connects", []), ("paths", {}))}
        sent = time.time()
        try:
            answer = self.ask("kfv_host_facts", **same, **own)
        except AnsibleConnectionFailure as error:
            answer = {"trouble": _trouble("reach", str(error))}
        except AnsibleError as error:
            answer = {"trouble": _trouble(kind_of(str(error)), str(error))}
        if "facts" in answer and not answer.get("failed"):
            row = {"facts": answer["facts"]}
        else:
            row = {"trouble": answer.get("trouble") or _trouble_of(answer)}
        return {"sent": sent, "received": time.time(), **row}

    def _judge(self, settings: Settings, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Report every finding. In check mode no report is written."""
        directory = arguments["report_directory"]
        options = Options(
            kubeconfig=settings.kubeconfig,
            context=settings.context,
            select=tuple(arguments["select"]),
            waive=arguments["waivers"],
            language=arguments["language"],
            strict=arguments["strict"],
            repair=arguments["repair"],
            report_dir=None if self.check_mode or not directory else Path(directory),
        )
        expectations = Expectations(release=settings.release.version, kubernetes=settings.release.kubernetes)
        inventory = self._inventory(settings, arguments["hosts"], arguments["plan"]["names"])
        report = preflight(options, expectations, _with_sandboxes(_with_images(inventory, settings), settings), silent)
        offered = repairs(report.results)
        for line in _offered(offered, requested=options.repair):
            show(line)
        return {**result_of(report, "preflight: "), "repairs": offered}

    def _inventory(self, settings: Settings, hosts: Sequence[str], names: Sequence[str]) -> Inventory:
        groups = self.groups
        return Inventory(
            hosts=tuple(_host(name, groups, self.variables_of(name)) for name in hosts),
            left_out=tuple(sorted({*hosts_of_cluster(groups)} - {*hosts})),
            kubernetes=settings.plan.kubernetes,
            architectures=settings.plan.architectures,
            minimum_cpu=settings.plan.minimum_cpu,
            minimum_memory_gb=settings.plan.minimum_memory_gb,
            minimum_storage_gb=settings.plan.minimum_storage_gb,
            components=frozenset(item.name for item in settings.components),
            mirror_mode=settings.mirror.mode,
            mirror_names=tuple(names),
            storage_mode=settings.storage.mode,
            addresses=self._addresses(hosts),
        )

    def _list(self, hosts: Sequence[str]) -> dict[str, Any]:
        """Print what kfv_host_repair did, would do, or could not undo: each once, with its hosts."""
        answers = {host: self.variables_of(host).get(_REPAIRED) for host in hosts}
        done, left = _grouped(answers, "done"), _grouped(answers, "left")
        heading = "would be done:" if self.check_mode else "done:"
        for line in (*_listed(heading, done), *_listed("left as it is:", left)):
            show(line)
        return {"done": done, "left": left}


def _mirrors(settings: Settings) -> Iterator[str]:
    """Names, without ports, of the registries and mirrors from which nodes pull."""
    if settings.mirror.mode == "none":
        return
    if settings.registry.address:  # nodes use it alone; the machine that runs Ansible copies from the mirrors into it
        yield settings.registry.host.partition(":")[0]
        return
    for rule in settings.mirror.rules:
        yield (rule.prefix or rule.host or rule.registry).partition("/")[0].partition(":")[0]
    if settings.mirror.preset:
        known = load_mirror(settings.mirror.preset)
        yield from (name.partition("/")[0] for name in (known.prefix, *known.hosts.values()) if name)


def _trouble_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """Of a module that did not end well; the last line of its interpreter says more than Ansible's message."""
    last = str(answer.get("module_stderr") or "").strip().rpartition("\n")[2]
    said = ": ".join(text for text in (str(answer.get("msg") or "the module gave no answer"), last) if text)
    return _trouble("reach" if answer.get("unreachable") else kind_of(said), said)


def _trouble(kind: str, message: str) -> dict[str, str]:
    return {"kind": kind, "message": " ".join(message.split())[:_MOST_CHARACTERS]}


def _host(name: str, groups: Mapping[str, Sequence[str]], variables: Mapping[str, Any]) -> Host:
    own = frozenset(group for group, members in groups.items() if name in members)
    return Host.decode(name, node_name(name, variables), own, variables.get(_LOOK))


def _with_images(inventory: Inventory, settings: Settings) -> Inventory:
    """With the images that are not built for the hosts; listed only where a host is not amd64."""
    machines = {host.facts.machine.architecture for host in inventory.reached if host.facts and host.facts.machine}
    names = {ARCHITECTURES.get(machine, ALWAYS_BUILT) for machine in machines} - {ALWAYS_BUILT}
    if not names & {*settings.plan.architectures}:
        return inventory
    try:
        entries = images_of(desired(settings, settings.components, silent).images, settings).entries
    except ProblemsError as error:
        return replace(inventory, images_unknown=error.problems[0].found.rstrip("."))
    lacking = {name: tuple(item.use.original for item in entries if name in item.judgement.missing) for name in names}
    return replace(inventory, lacking=lacking)


def _with_sandboxes(inventory: Inventory, settings: Settings) -> Inventory:
    """With what the rules of mirrors make of the sandbox images that the runtimes of hosts are configured for."""
    names = {host.facts.runtime.sandbox for host in inventory.reached if host.facts and host.facts.runtime} - {""}
    sandboxes = {name: mirrored_elsewhere(name, settings.mirror) for name in sorted(names)}
    return replace(inventory, sandboxes={name: Mirrored(*item) for name, item in sandboxes.items() if item})


def _offered(offered: Mapping[str, Sequence[Mapping[str, str]]], *, requested: bool) -> Iterator[str]:
    """Each repair once, with the hosts that need it."""
    hosts: dict[str, list[str]] = {}
    for host, items in offered.items():
        for item in items:
            hosts.setdefault(_words(item), []).append(host)
    heading = "to be repaired:" if requested else "playbooks/hosts.yml with preflight_repair: true repairs:"
    yield from _listed(heading, hosts)


def _words(item: Mapping[str, str]) -> str:
    if item["kind"] == "module":
        return f"load {item['name']}, now and at boot"
    if item["kind"] == "sysctl":
        return f"set {item['name']} = {item['value']}, now and at boot"
    return "turn swap off, now and at boot"


def _grouped(answers: Mapping[str, Any], key: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for host, answer in answers.items():
        for what in answer.get(key) or () if isinstance(answer, Mapping) else ():
            groups.setdefault(str(what), []).append(host)
    return groups


def _listed(heading: str, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if groups:
        yield heading
        yield from (f"  {what}: {few(hosts)}" for what, hosts in groups.items())
