"""The queues and jobs of two teams that share 8 GPUs, and the GPUs of each team in a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.jobs import RESTART, holder
from kubeflow_volcano.gang_demo.jobs.vcjobs import Task, queue, vcjob
from kubeflow_volcano.gang_demo.play.history import History

NODES, NODE_GPUS = 4, 2
ALL = NODES * NODE_GPUS
SIZE, JOBS = 2, 4
"""Pods of a gang, each with one GPU, and gangs with which a team requests all GPUs."""

WEIGHTS: Mapping[str, int] = {"a": 3, "b": 1}
"""The teams."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Objects of a case: the queue of each team without its weight (None: the queue default), and numbers of jobs.

    With `occupied`, other pods hold all GPUs until both teams wait.
    """

    queues: Mapping[str, Mapping[str, Any] | None]
    jobs: Mapping[str, int]
    occupied: bool = False

    def manifest(self, prefix: str) -> tuple[Object, ...]:
        """Queues, then other pods, then the jobs, those of team a first."""
        jobs = (item for team in self.jobs for item in self.jobs_of(prefix, team))
        return (*self.shared(prefix), *self.others(prefix), *jobs)

    def shared(self, prefix: str) -> tuple[Object, ...]:
        """The queues."""
        return tuple(
            queue(f"{prefix}-{team}", WEIGHTS[team], **spec) for team, spec in self.queues.items() if spec is not None
        )

    def others(self, prefix: str) -> tuple[Object, ...]:
        """Pods that hold GPUs outside of any queue, to be deleted later."""
        return tuple(holder(f"other-{number}", f"{prefix}-a", NODE_GPUS) for number in range(NODES * self.occupied))

    def jobs_of(self, prefix: str, team: str) -> tuple[Object, ...]:
        """The jobs of a team. A job that loses a pod restarts as a whole."""
        name = "default" if self.queues[team] is None else f"{prefix}-{team}"
        return tuple(
            vcjob(job, f"{prefix}-{team}", Task("worker", SIZE), policies=(RESTART,), queue=name)
            for job in self.names(team)
        )

    def names(self, team: str) -> tuple[str, ...]:
        """Names of the jobs of a team."""
        return tuple(f"{team}-{number}" for number in range(1, self.jobs.get(team, 0) + 1))

    def all_names(self) -> tuple[str, ...]:
        """Names of all jobs."""
        return tuple(name for team in self.jobs for name in self.names(team))

    def shares(self, history: History) -> dict[str, int]:
        """GPUs that each team holds."""
        return {team: history.placed(*self.names(team)) for team in WEIGHTS}

    def most(self, history: History, team: str) -> int:
        """The greatest number of GPUs that the team held at one time."""
        return history.most_held(*self.names(team))

    def above(self, history: History, limits: Mapping[str, int]) -> str:
        """Evidence that a team held more than its limit at any time; empty without any."""
        return "; ".join(
            f"team {team} held {self.most(history, team)} GPUs, and its limit is {limit}"
            for team, limit in limits.items()
            if self.most(history, team) > limit
        )

    def lines(self, history: History) -> tuple[str, ...]:
        """One line per team: its GPUs now, and its queue."""
        now = self.shares(history)
        return tuple(f"team {team}: {now[team]} GPUs ({_words(team, spec)})" for team, spec in self.queues.items())


def _words(team: str, spec: Mapping[str, Any] | None) -> str:
    if spec is None:
        return "queue default"
    return ", ".join([f"queue {team}, weight {WEIGHTS[team]}", *(f"{key} {_text(spec[key])}" for key in spec)])


def _text(value: Any) -> str:
    return " ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, dict) else str(value).lower()


def jobs_with_losses(history: History, names: Sequence[str]) -> list[str]:
    """The jobs that lost a pod."""
    return [name for name in names if any(item.lost for item in history.members_of(name))]
