"""Running the probes that somebody waits for, within one session that removes what they made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.fitting import tolerations
from kubeflow_volcano.experiment.remains import Cleanup
from kubeflow_volcano.experiment.session import Options, Session
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress
from validators.core.facts import Facts, ProbeFailure
from validators.probes import PROBES
from validators.reading.collect import unread
from validators.report.document import Report
from validators.run.judging import Judging

__all__ = ["probe"]


def probe(cluster: Cluster, judging: Judging, report: Report, options: Options, progress: Progress) -> None:
    """Act, remove, judge. Whatever happens, the session is closed and its account stands in the report."""
    facts = report.facts
    if facts is None:
        return
    names = [name for name in judging.probes() if name in PROBES]
    evidence: dict[str, Any] = {"cleanup": Cleanup((), (), (), (), 0.0)}
    if names:
        needed = _tolerations(facts)
        if needed:
            told = ", ".join(f"{item['key']}:{item['effect']}" for item in needed)
            progress(f"every node keeps pods off, so those of probes tolerate {told}")
        session = Session(cluster, progress, options, needed)
        report.run = session.run
        try:
            session.sweep()
            for name in names:
                progress(f"probe {name}")
                evidence[name] = _evidence(name, session, facts, progress)
        finally:
            try:
                session.close()
            finally:  # a signal in the meantime takes effect behind it
                report.cleanup = session.account
        evidence["cleanup"] = report.cleanup
    report.facts = replace(facts, probes=evidence)
    judging.judge_probes(report.facts)


def _tolerations(facts: Facts) -> tuple[Mapping[str, str], ...]:
    """As the real nodes ask for it, where there is one: simulated nodes keep everybody off."""
    nodes = facts.objects.get("nodes", ())
    return tolerations([item for item in nodes if item["metadata"]["name"] not in facts.simulated_nodes] or nodes)


def _evidence(name: str, session: Session, facts: Facts, progress: Progress) -> Any:
    try:
        return PROBES[name](session, facts, progress)
    except ApiError as error:
        why = unread(f"what probe {name} asked for", error)
        return ProbeFailure(why.reason, why.message, why.todo)
    except ProblemsError as error:
        problem = error.problems[0]
        return ProbeFailure("ProbeRefused", problem.found, problem.todo)
    except Exception as error:  # noqa: BLE001  a probe that breaks may not end the run, and proves nothing
        message = f"probe {name} broke: {type(error).__name__}: {error}"
        return ProbeFailure("ProbeBroke", message, "report this together with the report file; it is a defect.")
