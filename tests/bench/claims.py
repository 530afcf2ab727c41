"""What the benchmark claims, and how a claim is judged from samples. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured run of one contestant, in round `number` of its release; seconds, CPU seconds and MiB."""

    release: str
    stage: str
    contestant: str
    number: int
    seconds: float
    client_cpu: float
    server_cpu: float
    peak_mib: float
    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class Claim:
    """The subject's `measure` in `stage` is at most `limit` times the reference's; absolute without a reference.

    A measure that no sample has by itself is one of its facts. `exceptions` are limits of single releases.
    """

    stage: str
    title: str
    limit: float
    reference: str = ""
    measure: str = "seconds"
    subject: str = "ours"
    exceptions: Mapping[str, float] = field(default_factory=dict)

    def limit_of(self, release: str) -> float:
        """The limit for a release."""
        return self.exceptions.get(release, self.limit)


_LIGHT = "1.6.1"
"""kustomize builds its example in a third of the CPU time of 1.9.1's, so that upstream's loop has a shorter way."""


CLAIMS = (
    Claim("empty", "roll-out to an empty cluster / the upstream loop", 0.2, "upstream", exceptions={_LIGHT: 0.3}),
    Claim("empty", "roll-out to an empty cluster / a bare parallel replay", 0.97, "replay"),
    Claim("again", "rerun without changes / kubectl apply --server-side", 0.1, "upstream"),
    Claim("again", "rerun without changes / the bare replay again", 0.25, "replay"),
    Claim("again", "looking for stale objects / the rest of a rerun without changes", 0.3, measure="stale_share"),
    Claim("upgrade", "an upgrade that changes nothing / a rerun without changes", 1.0, measure="upgrade_share"),
    Claim("render", "rendering all components / kustomize build example", 1.1, "kustomize"),
    Claim("plan", "plan.yml with a warm cache, seconds", 4.0),
    Claim("empty", "peak memory of the controller process, MiB", 400.0, measure="peak_mib"),
    Claim("validate", "judging 1,000 nodes and 10,000 pods / a bare listing of the same", 1.15, "listing"),
    Claim("validate", "peak memory of judging them, MiB", 300.0, measure="peak_mib"),
    Claim("validate-large", "judging so many --nodes and --pods / a bare listing of the same", 1.15, "listing"),
    Claim("validate-large", "peak memory of judging them, MiB", 1024.0, measure="peak_mib"),
    Claim("gangs", "places that the default scheduler left empty", 0.0, measure="left_empty", subject="default"),
    *(
        Claim("gangs", f"{title} ({who})", 0.0, measure=measure, subject=subject)
        for subject, who in (("volcano", "Volcano"), ("kubernetes", "Kubernetes"))
        for measure, title in (
            ("partial", "gangs that fit and were ever placed in part"),
            ("stalled", "gangs that fit and were not placed in two minutes"),
            ("without_room", "members placed of gangs with one too many"),
            ("deadlocks", "pairs of gangs of which not both ran, one after the other"),
        )
    ),
    Claim(
        "gang of 50",
        "a gang of 50 with volcano_scheduler_flags / the default scheduler",
        2.0,
        "default",
        subject="tuned",
    ),
    Claim(
        "gang of 1000",
        "a gang of 1,000 with volcano_scheduler_flags / the default scheduler",
        1.3,
        "default",
        subject="tuned",
    ),
    Claim("gangs", "peak memory of Volcano's scheduler, MiB", 400.0, measure="peak_mib", subject="volcano"),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim about a release: the medians, the median ratio of the rounds with its extremes, and whether it holds."""

    release: str
    claim: Claim
    subject: float
    reference: float | None
    value: float
    low: float
    high: float

    @property
    def met(self) -> bool:
        """Whether the claim holds."""
        return self.value <= self.claim.limit_of(self.release)


def judge(samples: Sequence[Sample], claims: Iterable[Claim] = CLAIMS) -> list[Judgement]:
    """Judge every claim for which there are samples.

    A ratio is that of each round by itself, for a round's runs meet the same machine; the median of them counts.
    """
    found = []
    for release in dict.fromkeys(sample.release for sample in samples):
        for claim in claims:
            ours = _values(samples, release, claim, claim.subject)
            others = _values(samples, release, claim, claim.reference)
            rounds = sorted(ours.keys() & others.keys()) if claim.reference else sorted(ours)
            if not rounds:
                continue
            values = [ours[number] / others[number] if claim.reference else ours[number] for number in rounds]
            found.append(
                Judgement(
                    release,
                    claim,
                    statistics.median(ours.values()),
                    statistics.median(others.values()) if claim.reference else None,
                    statistics.median(values),
                    min(values),
                    max(values),
                )
            )
    return found


def _values(samples: Sequence[Sample], release: str, claim: Claim, contestant: str) -> dict[int, float]:
    return {
        sample.number: _measured(sample, claim.measure)
        for sample in samples
        if (sample.release, sample.stage, sample.contestant) == (release, claim.stage, contestant)
    }


def _measured(sample: Sample, measure: str) -> float:
    return float(str(getattr(sample, measure) if hasattr(sample, measure) else sample.facts[measure]))


def table(judgements: Sequence[Judgement]) -> str:
    """The judgements as a Markdown table."""
    head = ("release", "claim", "ours", "reference", "value", "spread", "limit", "")
    return markdown(
        head,
        (
            (
                item.release,
                item.claim.title,
                f"{item.subject:.2f}",
                "" if item.reference is None else f"{item.reference:.2f}",
                f"{item.value:.2f}",
                f"{item.low:.2f}-{item.high:.2f}",
                f"{item.claim.limit_of(item.release):g}",
                "met" if item.met else "NOT met",
            )
            for item in judgements
        ),
    )


def costs(samples: Sequence[Sample]) -> str:
    """What each contestant cost in each stage, as a Markdown table of medians."""
    groups: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.release, sample.stage, sample.contestant), []).append(sample)
    head = ("release", "stage", "contestant", "runs", "seconds", "own CPU s", "API server CPU s")
    measures = ("seconds", "client_cpu", "server_cpu")
    return markdown(
        head,
        (
            (
                *key,
                str(len(runs)),
                *(f"{statistics.median(getattr(run, name) for run in runs):.2f}" for name in measures),
            )
            for key, runs in groups.items()
        ),
    )


def markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table whose columns are aligned."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text) + "\n"
