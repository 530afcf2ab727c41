"""kfv_console: Ansible's own output, shortened for many hosts. Changes and failures are printed as usual."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible import constants
from ansible.playbook.task_include import TaskInclude
from ansible.plugins.callback.default import CallbackModule as Default

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils import library  # noqa: F401  it refuses first
from kubeflow_volcano.hosts.reaching import trouble
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.text import counted, few, visible

DOCUMENTATION = r"""
name: kfv_console
type: stdout
short_description: Output for many hosts
description:
  - The output of C(ansible.builtin.default). In plays with more than eight hosts, hosts without a change are counted
    instead of listed, and equal failures and equal changes are shown with the first host only. C(-v) shows everything.
  - Plays without hosts are one line.
  - Hosts that cannot be worked on have one line each, instead of the messages of ssh and sudo. The run ends with each
    cause once, with the hosts that were left out or not begun, what is needed and what to do.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

_FEW = 8
_AGAIN = "run the same command again; finished work is not repeated."


class _Parts(NamedTuple):
    host: str
    task: Any
    values: Mapping[str, Any]


def _parts(result: Any) -> _Parts:
    """The argument of a callback, by its attributes before ansible-core 2.19, which still exist."""
    return _Parts(result._host.get_name(), result._task, result._result)  # noqa: SLF001  public only from 2.19 on


_PRINTED = ("module_stderr", "module_stdout")
"""Keys of a result with output that came in place of a module's answer."""


def _words(values: Mapping[str, Any], *parts: str) -> str:
    return "\n".join(str(values.get(part, "")) for part in parts)


class CallbackModule(Default):
    """Counts hosts without news, and collects the reasons why hosts were left out."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "kfv_console"

    def __init__(self) -> None:
        super().__init__()
        self._many = False
        self._quiet: Counter[str] = Counter()
        self._causes: dict[str, Problem] = {}
        self._said: dict[tuple[str, str], str] = {}
        self._ahead: list[str] = []
        self._name_of_play = ""

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """A play, or the next batch of it."""
        self._print_counts()
        known = play.get_variable_manager().get_vars(play=play)
        if not known["ansible_play_hosts_all"]:
            self._display.display(f"no hosts for: {play.get_name()}", color=constants.COLOR_SKIP)
            return
        super().v2_playbook_on_play_start(play)
        batch = known["ansible_play_batch"]
        if play.get_name() != self._name_of_play:
            self._name_of_play, self._ahead = play.get_name(), known["ansible_play_hosts_all"]
        self._ahead = [host for host in self._ahead if host not in batch]
        self._many = len(batch) > _FEW and self._display.verbosity == 0

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Printed at the start of the play."""

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: FBT001  the base class's
        """Print the counts of the task before."""
        self._print_counts()
        super().v2_playbook_on_task_start(task, is_conditional)

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        """As for a task."""
        self._print_counts()
        super().v2_playbook_on_handler_task_start(task)

    def v2_playbook_on_include(self, included_file: Any) -> None:
        """Tasks from a file; of many hosts only some are named."""
        hosts, path = included_file._hosts, included_file._filename  # noqa: SLF001  as the base class does
        if self._many and len(hosts) > _FEW:
            self._display.display(f"included: {path} for {few([host.name for host in hosts])}")
        else:
            super().v2_playbook_on_include(included_file)

    def v2_on_file_diff(self, result: Any) -> None:
        """A change; of many hosts with the same change, only the first shows it."""
        host, _, values = _parts(result)
        diff = values.get("diff")
        for item in diff if isinstance(diff, list) else [diff]:
            if isinstance(item, dict):
                item |= {key: visible(text) for key, text in item.items() if isinstance(text, str)}
        first = self._first_with(result, repr(diff)) if diff and self._many and values.get("changed") else host
        if first == host:
            super().v2_on_file_diff(result)
        else:
            self._display.display(f"the same change as on {first}:")

    def v2_runner_on_ok(self, result: Any) -> None:
        """A host did not need a change, or was changed."""
        if self._is_news(result) or isinstance(_parts(result).task, TaskInclude):
            super().v2_runner_on_ok(result)
        else:
            self._count("ok", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """The task is not for this host."""
        if self._is_news(result):
            super().v2_runner_on_skipped(result)
        else:
            self._count("skipping", result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """As for a task, for one item of its loop."""
        if self._is_news(result):
            super().v2_runner_item_on_ok(result)

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        """As for a task, for one item of its loop."""
        if self._is_news(result):
            super().v2_runner_item_on_skipped(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host cannot be reached, or its user cannot become root."""
        if not self._explained(result, "UNREACHABLE", reached=False):
            super().v2_runner_on_unreachable(result)
        elif _parts(result).task.ignore_unreachable:
            self._display.display("...ignoring", color=constants.COLOR_SKIP)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002  as above
        """A task failed; its message says why, unless it could not start."""
        if not ignore_errors and (self._explained(result, "FAILED", reached=True) or self._failed_before(result)):
            return
        super().v2_runner_on_failed(result, ignore_errors)

    def _handle_exception(self, result: Any, use_stderr: bool = False) -> None:  # noqa: FBT001, FBT002  as above
        """What went wrong while a task ran. Its own answer is printed once: ansible-core repeats it from 2.19 on."""
        if "changed" in result and result.get("msg") and "Traceback" not in str(result.get("exception", "")):
            result.pop("exception", None)
        super()._handle_exception(result, use_stderr)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The end: totals by host, then each reason why hosts were left out."""
        self._print_counts()
        super().v2_playbook_on_stats(stats)
        met: dict[Problem, list[str]] = defaultdict(list)
        for host in sorted(self._causes):
            total = stats.summarize(host)
            if total["unreachable"] or total["failures"]:
                met[self._causes[host]].append(host)
        problems = [Problem(f"{few(hosts)}: {item.found}", item.needed, item.todo) for item, hosts in met.items()]
        ahead = [host for host in self._ahead if host not in self._causes]
        if problems and ahead:
            found = f"{few(ahead)}: not begun in the play {self._name_of_play}."
            problems.append(Problem(found, "success on the hosts before them.", f"repair these, then {_AGAIN}"))
        if problems:
            self._display.banner("LEFT OUT")
            self._display.display(ProblemsError(problems).describe(), color=constants.COLOR_ERROR)

    def _is_news(self, result: Any) -> bool:
        values = _parts(result).values
        return not self._many or values.get("changed", False) or self._run_is_verbose(result)

    def _count(self, word: str, result: Any) -> None:
        self._handle_warnings(_parts(result).values)
        self._quiet[word] += 1

    def _print_counts(self) -> None:
        """One line for all hosts without news in the last task."""
        colors = {"ok": constants.COLOR_OK, "skipping": constants.COLOR_SKIP}
        for word, count in self._quiet.items():
            self._display.display(f"{word}: {counted(count, 'host')}", color=colors[word])
        self._quiet.clear()

    def _failed_before(self, result: Any) -> bool:
        """Whether the same task failed on another host with the same message, which is not repeated then."""
        host, _, values = _parts(result)
        first = self._first_with(result, _words(values, "msg", *_PRINTED, "stderr", "stdout"))
        if first == host or "results" in values or self._display.verbosity:
            return False
        self._display.display(f"fatal: [{host}]: FAILED! => as {first}", color=constants.COLOR_ERROR)
        return True

    def _first_with(self, result: Any, said: str) -> str:
        """The first host with this message of the task."""
        host, task, _ = _parts(result)
        return self._said.setdefault((task._uuid, said), host)  # noqa: SLF001  as the base class does

    def _explained(self, result: Any, word: str, *, reached: bool) -> bool:
        """Remember why the host is left out; returns whether it was printed, too."""
        host, task, values = _parts(result)
        problem = trouble(_words(values, "msg", *_PRINTED), reached=reached, printed=_words(values, *_PRINTED))
        if host != "localhost" and not task.run_once:  # a task for all hosts fails on the first of them
            found = f'the task "{task.get_name()}" failed; its message says why.'
            self._causes[host] = problem or Problem(
                found, "success of every task on every host.", f"correct that, then {_AGAIN}"
            )
        if problem is None or self._display.verbosity:
            return False
        if self._last_task_banner != task._uuid:  # noqa: SLF001  as the base class does
            self._print_task_banner(task)
        self._display.display(
            f"fatal: [{host}]: {word}! => {visible(problem.found)}", color=constants.COLOR_UNREACHABLE
        )
        return True
