"""Asking the release's own pods whether they may write to their volumes: a command in them, which writes nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.pods.exec import ExecResult, execute
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.outcome import CannotJudgeError
from kubeflow_volcano.validators.core.resources import CLAIMS, PODS
from kubeflow_volcano.validators.core.rights import HOMES, Rule
from kubeflow_volcano.validators.probes.storage.consumers import Mount, Skipped, mounts
from kubeflow_volcano.validators.probes.storage.writing import listed

EXEC = (Rule("get", "", "pods/exec", HOMES), Rule("create", "", "pods/exec", HOMES))
"""Over a websocket the server requires get, from Kubernetes 1.35 on create too (kubernetes/kubernetes#134577)."""

MOST_CONTAINERS = 40
"""More containers than these are not asked in one run; the others are named."""

_AT_ONCE = 6
_SECONDS = 15.0
# In the words of runc and crun for a program that the image does not have.
_NO_SHELL = r"not found in \$PATH|no such file or directory"

SCRIPT = """
echo "id $(id -u) $(id -G)"
while read -r key value rest; do
  case $key in Uid:|Gid:|Groups:) echo "main $key $value $rest";; esac
done < /proc/1/status
for path; do
  if test -w "$path"; then word=yes; else word=no; fi
  echo "path $word $(ls -ldn "$path" 2>&1)"
done
"""
"""For any sh. The command runs as the container's user, which is not the one that serves where a program started as
root and changed over: process 1 says who that is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One container and the paths at which it mounts claims; `main_is_own` where its process 1 is its own program."""

    consumer: Ref
    pod: Ref
    container: str
    paths: tuple[str, ...]
    main_is_own: bool


@dataclass(frozen=True, slots=True)
class Who:
    """A user and its groups; None where nothing said so."""

    user: int | None = None
    groups: frozenset[int] = frozenset()

    def may_write(self, listing: str) -> bool:
        """Whether the mode bits in a line of `ls -ldn` let this user write; root needs none."""
        mode, owner, group = listed(listing)
        if self.user == 0 or not mode:
            return True
        of_owner, of_group, of_others = (int(digit) & 2 for digit in mode[1:])
        return bool(of_owner if self.user == owner else of_group if group in self.groups else of_others)

    def __str__(self) -> str:
        groups = f" groups {', '.join(map(str, sorted(self.groups)))}" if self.groups else ""
        return f"uid {'unknown' if self.user is None else self.user}{groups}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a container said of one path. `who` is as whom its program runs, `listing` the line of `ls -ldn`."""

    asked: Asked
    path: str
    writable: bool
    who: Who
    listing: str


@dataclass
class OwnVolumes:
    """What the containers said; of `failures` the reason and the text of each that could not be asked."""

    answers: tuple[Answer, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[tuple[Ref, str, str], ...] = ()
    unread: CannotJudgeError | None = field(default=None, repr=False)


def run(session: Session, facts: Facts, progress: Progress) -> OwnVolumes:
    """Ask every running container of the release that mounts a claim; at most 15 s each, six at once."""
    try:
        wanted, skipped = _containers(facts)
    except CannotJudgeError as missing:
        return OwnVolumes(unread=missing)
    progress(f"D7 asking {counted(len(wanted), 'container')} about their volumes")
    results = in_parallel(lambda item: _ask(session, item), wanted, _AT_ONCE)
    return OwnVolumes(
        answers=tuple(answer for item in results if isinstance(item, list) for answer in item),
        skipped=(*skipped, *(item for item in results if isinstance(item, Skipped))),
        failures=tuple(item for item in results if isinstance(item, tuple)),
    )


def _containers(facts: Facts) -> tuple[list[Asked], list[Skipped]]:
    grouped: dict[tuple[str, str], list[Mount]] = defaultdict(list)
    for item in mounts(facts):
        if item.pod["metadata"]["namespace"] in facts.expectations.homes:
            grouped[item.pod["metadata"]["uid"], item.container["name"]].append(item)
    wanted: list[Asked] = []
    skipped: list[Skipped] = []
    simulated = {pod["metadata"]["uid"] for pod in facts.simulated_pods}
    for found in grouped.values():
        first = found[0]
        if reason := _cannot_be_asked(first, simulated):
            skipped.append(Skipped(first.consumer, reason))
        elif len(wanted) == MOST_CONTAINERS:
            skipped.append(
                Skipped(first.consumer, f"is beyond the {MOST_CONTAINERS} containers of one run", beyond=True)
            )
        else:
            wanted.append(_asked(first, [item.mount["mountPath"] for item in found]))
    return wanted, skipped


def _cannot_be_asked(item: Mount, simulated: set[str]) -> str:
    if item.pod["metadata"]["uid"] in simulated:
        return "is simulated: nothing runs in it"
    statuses = item.pod.get("status", {}).get("containerStatuses") or ()
    running = any(one["name"] == item.container["name"] and "running" in one.get("state", {}) for one in statuses)
    return "" if running else f"has no running container {item.container['name']}"


def _asked(item: Mount, paths: Sequence[str]) -> Asked:
    meta, spec = item.pod["metadata"], item.pod["spec"]
    shared = bool(spec.get("shareProcessNamespace") or spec.get("hostPID"))
    pod = Ref("v1", "Pod", meta["namespace"], meta["name"])
    return Asked(item.consumer, pod, item.container["name"], tuple(paths), main_is_own=not shared)


def _ask(session: Session, item: Asked) -> list[Answer] | Skipped | tuple[Ref, str, str]:
    command = ["sh", "-c", SCRIPT, "sh", *item.paths]
    try:
        end = execute(session.cluster, item.pod.namespace, item.pod.name, item.container, command, seconds=_SECONDS)
    except ApiError as error:
        return item.pod, "Forbidden" if error.status in {401, 403} else "ProbeInterrupted", str(error)
    if end.code is None and re.search(_NO_SHELL, end.output):
        return Skipped(item.consumer, f"has no shell to ask in container {item.container}: {end.output}")
    results = answers(item, end)
    if len(results) != len(item.paths):
        return item.pod, "Unfinished", f"the command ended with {end.code}: {end.output.strip()[-300:]}"
    return results


def answers(item: Asked, end: ExecResult) -> list[Answer]:
    """What the lines of the script come to."""
    asker, main = Who(), dict[str, list[str]]()
    results: list[Answer] = []
    for line in end.output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "id":
            user, _, groups = rest.partition(" ")
            asker = Who(_number(user), frozenset(_numbers(groups)))
        elif word == "main":
            key, *values = rest.split()
            main[key] = values
        elif word == "path" and len(results) < len(item.paths):
            may, _, listing = rest.partition(" ")
            server = _server(main, asker) if item.main_is_own else asker
            writable = may == "yes" and (server.user == asker.user or server.may_write(listing))
            results.append(Answer(item, item.paths[len(results)], writable, server, listing))
    return results


def _server(main: Mapping[str, Sequence[str]], asker: Who) -> Who:
    """As whom process 1 runs: of the real, effective, saved and file system ids (proc(5)) the effective one."""
    try:
        user, group = int(main["Uid:"][1]), int(main["Gid:"][1])
    except (KeyError, IndexError, ValueError):
        return asker
    return Who(user, frozenset({group, *_numbers(" ".join(main.get("Groups:", ())))}))


def _numbers(text: str) -> Iterator[int]:
    return (int(word) for word in text.split() if word.isdigit())


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


OWN_VOLUMES = Probe[OwnVolumes]("own-volumes", run, "nodes", reads=(CLAIMS, PODS), needs=EXEC)
