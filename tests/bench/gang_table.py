"""The gangs of the benchmark as tables: what became of each with every contestant, and what it cost. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.bench.claims import Sample, markdown

FITTING, CROWDED, COMPETING, DISPLACING = "fitting", "crowded", "competing", "displacing"
"""The kinds of stages, which their facts name."""

_REFERENCE, _ALL = "default", "gangs"
_Stage = Mapping[str, Sequence[Sample]]


def gang_table(samples: Sequence[Sample], titles: Mapping[str, str]) -> str:
    """Two Markdown tables with a column for each contestant, by `titles`: what was seen, and CPU seconds."""
    stages: dict[str, dict[str, list[Sample]]] = {}
    for sample in samples:
        if sample.stage != _ALL:
            stages.setdefault(sample.stage, {}).setdefault(sample.contestant, []).append(sample)
    if not stages:
        return ""
    return f"{_table('seconds', stages, titles, _seen)}\n{_table('CPU: scheduler + API server', stages, titles, _cpu)}"


def _table(
    head: str, stages: Mapping[str, _Stage], titles: Mapping[str, str], cell: Callable[[_Stage, str], str]
) -> str:
    rows = [(stage, *(cell(of, name) if name in of else "" for name in titles)) for stage, of in stages.items()]
    return markdown((head, *titles.values()), rows)


def _cpu(stage: _Stage, name: str) -> str:
    return f"{_median(stage[name], 'client_cpu')} + {_median(stage[name], 'server_cpu')}"


def _seen(stage: _Stage, name: str) -> str:
    first, *_ = stage[name]
    if first.facts["kind"] == FITTING:
        return "; ".join([_median(stage[name], "seconds"), *_ratio(stage, name), *_faults(stage[name])])
    return {CROWDED: _crowded, COMPETING: _competed, DISPLACING: _displaced}[str(first.facts["kind"])](first)


def _ratio(stage: _Stage, name: str) -> list[str]:
    """The ratio of each round to the reference in it."""
    if name == _REFERENCE or _REFERENCE not in stage:
        return []
    others = {sample.number: sample.seconds for sample in stage[_REFERENCE]}
    ratios = [sample.seconds / others[sample.number] for sample in stage[name] if sample.number in others]
    return [f"{statistics.median(ratios):.1f} ({min(ratios):.1f}-{max(ratios):.1f})"]


def _faults(samples: Sequence[Sample]) -> list[str]:
    stalled = [int(str(sample.facts["held"])) for sample in samples if not sample.facts["whole"]]
    partial = sum(bool(sample.facts["partial"]) for sample in samples)
    found = [f"STALLED {len(stalled)} of {len(samples)} ({', '.join(map(str, stalled))} placed)"] if stalled else []
    return found + ([f"in part {partial} of {len(samples)}"] if partial else [])


def _crowded(sample: Sample) -> str:
    judged: Any = sample.facts["judged"]
    said = ", never said" if judged is None else f", said after {judged:.2f}"
    return f"{sample.facts['held']} placed{'' if sample.facts['held'] else said}"


def _competed(sample: Sample) -> str:
    held: Any = sample.facts["held"]
    follows: Any = sample.facts["follows"]
    counts = " + ".join(map(str, held))
    if not sample.facts["whole"]:
        return f"{'DEADLOCK' if all(held) else 'NONE PLACED'}: {counts} placed"
    after = "the other NEVER" if follows is None else f"{follows:.2f} after its end"
    return f"{counts}; {sample.seconds:.2f}, {after}"


def _displaced(sample: Sample) -> str:
    if not sample.facts["began"]:
        return "the other one STALLED"
    held: Any = sample.facts["held"]
    urgent, low = held
    left = f"{low} of the other left"
    return f"{sample.seconds:.2f}; {left}" if sample.facts["whole"] else f"NOT PLACED ({urgent}); {left}"


def _median(samples: Sequence[Sample], measure: str) -> str:
    return f"{statistics.median(getattr(sample, measure) for sample in samples):.2f}"
