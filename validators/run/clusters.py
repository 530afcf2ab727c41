"""Several clusters in one run, each judged in a process of its own: what ends one leaves the others alone."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from kubeflow_volcano.experiment.interruption import Interrupted, interruptible, postponed
from kubeflow_volcano.problems import Exit, InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.text import visible
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.report.clusters import Combined, Judged
from kubeflow_volcano.validators.report.files import write_clusters
from kubeflow_volcano.validators.run.runner import Options, validate

_AT_ONCE = 8
_SIGNALS = {signal.SIGINT, signal.SIGTERM}
_PROCESSES = multiprocessing.get_context("spawn")  # a copy of this process could hold locks that nobody releases


def named(kubeconfigs: Sequence[Path], contexts: Sequence[str]) -> dict[str, tuple[Path | None, str | None]]:
    """Kubeconfig and context of every chosen cluster, by a unique name.

    Several contexts of one kubeconfig are called as they are; several kubeconfigs by the end of their path.

    Raises:
        InvalidInput: several of both, or one of them twice.
    """
    if len(kubeconfigs) > 1 and len(contexts) > 1:
        raise InvalidInput.problem(
            f"{len(kubeconfigs)} times --kubeconfig and {len(contexts)} times --context.",
            "several of one, at most one of the other, so that it is clear which belongs to which.",
            "name clusters by contexts of one kubeconfig, or by kubeconfigs with the same context in each.",
        )
    given = [str(item.absolute()) for item in kubeconfigs] if len(kubeconfigs) > 1 else list(contexts)
    if twice := sorted({item for item in given if given.count(item) > 1}):
        raise InvalidInput(Problem(f"{item} is named twice.", "every cluster once.", "remove one.") for item in twice)
    if len(kubeconfigs) > 1:
        context = contexts[0] if contexts else None
        return {name: (path, context) for name, path in zip(_ends(kubeconfigs), kubeconfigs, strict=True)}
    kubeconfig = kubeconfigs[0] if kubeconfigs else None
    return {item: (kubeconfig, item) for item in contexts} or {"": (kubeconfig, None)}


def _ends(paths: Sequence[Path]) -> list[str]:
    """As much of the end of each path as tells it from the others."""
    parts = [path.absolute().parts[1:] for path in paths]
    length = 1
    while len({item[-length:] for item in parts}) < len(parts):
        length += 1
    return ["/".join(item[-length:]) for item in parts]


def directory_of(names: Iterable[str]) -> dict[str, str]:
    """By cluster, the name of a directory for its report; no two have the same."""
    directories: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "cluster"
        number = sum(other == plain or other.startswith(f"{plain}~") for other in directories.values())
        directories[name] = f"{plain}~{number + 1}" if number else plain
    return directories


def validate_all(
    clusters: Mapping[str, Options], report_dir: Path | None, *, quiet: bool = False, language: str = ENGLISH
) -> Combined:
    """Judge every cluster, several at once, and write the report on all of them.

    The first INT or TERM is handed on to those that are being judged, which remove their probes and say what they found
    until then; the others are not begun.

    Raises:
        InvalidInput: the options make no sense for any of them; nothing was touched.
    """
    crowd = _Crowd(quiet=quiet)
    with interruptible():
        try:
            judged = crowd.judge(clusters)
        except Interrupted as interruption:
            judged = crowd.end(interruption.exit_code)
    if all(item.exit_code is Exit.INVALID_INPUT for item in judged):
        raise InvalidInput(dict.fromkeys(problem for item in judged for problem in item.problems))
    combined = Combined(judged, language=language)
    with postponed():
        return write_clusters(combined, report_dir) if report_dir else combined


class _Crowd:
    """Processes that judge one cluster each, and what they answered."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lock = threading.Lock()
        self._stopped: Exit | None = None
        self._running: dict[str, BaseProcess] = {}
        self._judged: dict[str, Judged] = {}
        self._names: tuple[str, ...] = ()
        resource_tracker.ensure_running()  # which lets signals through in the thread that starts it
        self._pool = ThreadPoolExecutor(_AT_ONCE, "cluster", _leave_signals_alone)

    def judge(self, clusters: Mapping[str, Options]) -> list[Judged]:
        """All of them, in their order."""
        self._names = tuple(clusters)
        for done in wait([self._pool.submit(self._one, name, options) for name, options in clusters.items()]).done:
            done.result()
        return self._answers()

    def end(self, exit_code: Exit) -> list[Judged]:
        """Interrupt those that run, begin no other, and wait for what they have to say."""
        with self._lock:
            self._stopped = exit_code
            for process in self._running.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid or 0, exit_code - 128)
        return self._answers()

    def _answers(self) -> list[Judged]:
        self._pool.shutdown(wait=True, cancel_futures=True)
        return [self._judged.get(name) or _not_begun(name, self._stopped or Exit.INTERRUPTED) for name in self._names]

    def _one(self, name: str, options: Options) -> None:
        answers, answering = _PROCESSES.Pipe(duplex=False)
        process = _PROCESSES.Process(target=_judge, args=(answering, name, options, self._quiet), name=name)
        with self._lock:
            if self._stopped:
                return
            process.start()
            self._running[name] = process
        answering.close()
        try:
            judged = answers.recv()
        except EOFError:
            process.join()
            judged = _lost(name, process.exitcode)
        process.join()
        with self._lock:
            del self._running[name]
            self._judged[name] = judged


def _leave_signals_alone() -> None:
    """Signals are for the main thread; processes that are started here begin without them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def _judge(answering: Connection, name: str, options: Options, quiet: bool) -> None:  # noqa: FBT001  of a process
    """Judge one cluster and hand over what was found."""
    os.setpgrp()  # Ctrl-C in a terminal is for the process that started this one, which hands it on
    try:
        with interruptible():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            report = validate(options, silent if quiet else _behind(name))
        unwritten = (report.unwritten,) if report.unwritten else ()
        judged = Judged(name, report.exit_code, report.as_dict(), report.files, unwritten)
    except ProblemsError as error:
        judged = Judged(name, error.exit_code, problems=error.problems)
    except Interrupted as interruption:
        judged = _not_begun(name, interruption.exit_code)
    with contextlib.suppress(BrokenPipeError):
        answering.send(judged)


def _behind(name: str) -> Progress:
    """Lines on standard error behind the name of the cluster."""

    def announce(line: str) -> None:
        sys.stderr.write(f"{name}: {visible(line)}\n")
        sys.stderr.flush()

    return announce


def _not_begun(name: str, exit_code: Exit) -> Judged:
    problem = Problem("the run was ended before this cluster was judged.", "the time to judge it.", "run it again.")
    return Judged(name, exit_code, problems=(problem,))


def _lost(name: str, code: int | None) -> Judged:
    note = f"signal {-code}" if code and code < 0 else f"exit code {code}"
    problem = Problem(
        f"the process that judged this cluster ended with {note} and without an answer.",
        "a process that is left running.",
        "find out what ended it, such as the kernel when memory runs out, and run it again.",
    )
    return Judged(name, Exit.INCOMPLETE, problems=(problem,))
