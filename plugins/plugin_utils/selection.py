"""What the command line selects, by --limit, --tags and --skip-tags, compared with what there is to select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from ansible import context
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.playbook.block import Block
from ansible.playbook.task import Task
from ansible.playbook.task_include import TaskInclude
from ansible.utils.collection_loader._collection_finder import _get_collection_playbook_path
from ansible.vars.manager import VariableManager

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.values import plain
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.text import did_you_mean, few

_SPECIAL = ("all", "always", "never", "tagged", "untagged")
"""Words for tags that Ansible itself gives a meaning; docs.ansible.com, "Special tags"."""

_HOME = Path(__file__).resolve().parents[2]


def refusal(wanted: str | Sequence[str], groups: Mapping[str, Iterable[str]]) -> str:
    """Everything that the command line selects and that is not there, with what to do; empty where there is nothing.

    Args:
        wanted: the pattern of a play's hosts, as a text or a list.
        groups: names of hosts by group.
    """
    problems = [*_unknown_tags(), *_hosts_outside_limit(plain(wanted), plain(groups))]
    return ProblemsError(problems).describe() if problems else ""


def _hosts_outside_limit(wanted: str | Sequence[str], groups: Mapping[str, Iterable[str]]) -> Iterator[Problem]:
    """A problem if the inventory has hosts for a play and --limit leaves none of them."""
    limit = context.CLIARGS.get("subset")
    if not limit:
        return
    inventory = _inventory(groups)
    meant = [host.name for host in inventory.get_hosts(wanted)]
    inventory.subset(limit)
    if meant and not inventory.get_hosts(wanted):
        yield Problem(
            f"--limit {limit}, which leaves out every host that a play needs ({few(meant)}).",
            f"at least one of them in --limit, as in --limit '{limit},{meant[0]}'.",
            "add it to --limit, or run the command without --limit.",
        )


def _unknown_tags() -> Iterator[Problem]:
    """A problem with every word of --tags and --skip-tags that is no tag of the playbooks of this command.

    None where the tags are not all known before the run, as in playbooks that include tasks during the run.
    """
    given = {
        f"{option} {word}": word
        for option, key in (("--tags", "tags"), ("--skip-tags", "skip_tags"))
        for word in context.CLIARGS.get(key) or ()
        if word not in _SPECIAL
    }
    known = _tags(tuple(context.CLIARGS.get("args") or ())) if given else None
    if known is None:
        return
    wrong = {said: word for said, word in given.items() if word not in known}
    if wrong:
        meant = "".join(did_you_mean(word, known) for word in wrong.values())
        yield Problem(
            f"{', '.join(wrong)}: no task has such a tag.{meant}",
            f"tags of this playbook: {', '.join(sorted(known))}.",
            "correct them; ansible-playbook --list-tags shows those of a playbook.",
        )


def _inventory(groups: Mapping[str, Iterable[str]]) -> InventoryManager:
    """The same hosts and groups, which Ansible's own rules for patterns can be asked about."""
    inventory = InventoryManager(loader=DataLoader(), parse=False)
    for group, hosts in groups.items():
        inventory.add_group(group)
        for host in hosts:
            inventory.add_host(host, group)
    return inventory


@cache
def _tags(playbooks: tuple[str, ...]) -> frozenset[str] | None:
    """The tags of all tasks of these playbooks; None if some are only known during the run."""
    loader = DataLoader()
    variables = VariableManager(loader=loader, inventory=InventoryManager(loader=loader, parse=False))
    tags: set[str] = set()
    for name in playbooks:
        named = _get_collection_playbook_path(name)
        for play in Playbook.load(named[1] if named else name, variable_manager=variables, loader=loader).get_plays():
            tags |= {*play.tags}
            for task in _tasks(play.compile()):
                if _is_open(task):
                    return None
                tags |= {*task.tags}
    return None if any("{{" in tag for tag in tags) else frozenset(tags - {*_SPECIAL})


def _tasks(blocks: Iterable[Block | Task]) -> Iterator[Task]:
    for item in blocks:
        if isinstance(item, Block):
            yield from _tasks([*item.block, *item.rescue, *item.always])
        else:
            yield item


def _is_open(task: Task) -> bool:
    """Whether it brings tasks during the run; those that this collection includes have no tags of their own."""
    if not isinstance(task, TaskInclude) or task.statically_loaded:
        return False
    return not Path(task.get_path()).resolve().is_relative_to(_HOME)
