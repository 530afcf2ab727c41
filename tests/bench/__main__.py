"""Measure the project against named references, in the same run and interleaved, and judge the ratios.

python -m tests.bench [--release 1.9.1] [--only roll-out] [--repeat 3]

Exit codes: 0 all claims met, 1 one is missed, 2 it could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from kubeflow_volcano import __version__
from kubeflow_volcano.problems import Exit, ProblemsError
from kubeflow_volcano.progress import Progress, to_stderr
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from tests.bench.claims import Judgement, Sample, costs, judge, table
from tests.bench.contestants import TUNED, contestants
from tests.bench.crowd import Crowd
from tests.bench.gang_table import gang_table
from tests.bench.gangs import GENERATION, placements
from tests.bench.offline import Offline
from tests.bench.releases import GENERATIONS, Release, prepare
from tests.bench.rollouts import roll_outs
from tests.bench.upgrading import upgrades
from tests.bench.validating import validations
from tests.places import ROOT, UPSTREAM

_DOCUMENTS = {"measured": ROOT / "docs/performance.md", "gangs": ROOT / "docs/gang-scheduling.md"}
_STAGES = ("render", "plan", "roll-out", "upgrade", "validate", "gangs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, judge, write the results down."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(Exit.TERMINATED))
    progress = to_stderr()
    machine = _machine() | {"rounds": options.repeat, "nodes": options.nodes}
    samples: list[Sample] = []
    gangs: list[Sample] = []
    versions: dict[str, str] = {}
    stages = options.only or _STAGES
    of_release = [stage for stage in stages if stage != "gangs"]
    try:
        with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-bench-") as directory:
            for version in options.release or GENERATIONS:
                if not of_release:
                    break
                tools = ensure_tools(load_generation(GENERATIONS[version]), progress=progress)
                place = Path(directory, version)
                versions |= {version: GENERATIONS[version]}
                release = prepare(version, options.archives, tools.programs["kustomize"], place)
                samples += _measured(release, tools, place, of_release, options=options, progress=progress)
            if "gangs" in stages:
                versions |= {"gangs": GENERATION}
                gangs += placements(
                    Path(directory, "gangs"),
                    rounds=options.repeat,
                    progress=progress,
                    nodes=options.nodes,
                    flags=options.gang_flag or TUNED,
                )
    except ProblemsError as error:
        sys.stderr.write(error.describe() + "\n")
        return Exit.INVALID_INPUT
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    judgements = judge([*samples, *gangs])
    texts = {
        "measured": f"{table(judge(samples))}\n{costs(samples)}" if samples else "",
        "gangs": f"{table(judge(gangs))}\n{gang_table(gangs, _titles())}" if gangs else "",
    }
    sys.stdout.write("\n".join(filter(None, texts.values())))
    _write(options.results, machine, versions, [*samples, *gangs], judgements)
    if options.document:
        for what, text in texts.items():
            if text:
                _document(what, text, machine)
    return Exit.OK if all(item.met for item in judgements) else Exit.CHECK_FAILED


def _measured(
    release: Release,
    tools: Tools,
    place: Path,
    of_release: Iterable[str],
    *,
    options: argparse.Namespace,
    progress: Progress,
) -> Iterator[Sample]:
    """All rounds of these stages, which are about the release."""
    offline = Offline(release, tools.programs, options.archives, place, progress)
    stages: dict[str, Callable[[int], Iterable[Sample]]] = {
        "render": offline.render,
        "plan": offline.plan,
        "roll-out": lambda number: roll_outs(release, tools.programs, place, number, progress),
        "upgrade": lambda number: upgrades(release, tools.programs, place, number, progress),
    }
    for stage in of_release:
        if stage == "validate":
            crowd = Crowd(options.nodes, options.pods)
            yield from validations(
                release, tools.programs, options.archives, place, crowd, rounds=options.repeat, progress=progress
            )
            continue
        for number in range(options.repeat):
            yield from stages[stage](number)


def _titles() -> dict[str, str]:
    return {name: contestant.title for name, contestant in contestants().items()}


def _machine() -> dict[str, object]:
    model = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": os.cpu_count(),
        "model": model.partition(":")[2].strip(),
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20,
        "load_before": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _write(
    place: Path,
    machine: dict[str, object],
    versions: dict[str, str],
    samples: Sequence[Sample],
    judged: list[Judgement],
) -> None:
    results = {
        "kubeflow_volcano": __version__,
        "machine": machine | {"load_after": os.getloadavg()[0]},
        "kubernetes_by_release": versions,
        "judgements": [asdict(item) | {"met": item.met} for item in judged],
        "samples": [asdict(item) for item in samples],
    }
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(results, indent=2) + "\n")
    sys.stderr.write(f"results: {place}\n")


def _document(what: str, text: str, machine: dict[str, object]) -> None:
    """Put the text in the place of the one before; what was not measured now stays."""
    begin, end, document = f"<!-- {what}: begin -->\n", f"<!-- {what}: end -->\n", _DOCUMENTS[what]
    before, _, rest = document.read_text().partition(begin)
    _, _, after = rest.partition(end)
    how = f"load {machine['load_before']:.1f} before, --repeat {machine['rounds']}, --nodes {machine['nodes']}"
    where = f"{str(machine['begun'])[:10]}, {machine['processors']} processors ({machine['model']}), {how}:"
    document.write_text(f"{before}{begin}\n{where}\n\n{text}\n{end}{after}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--release", action="append", choices=GENERATIONS, help="only this one; may be repeated")
    parser.add_argument("--only", choices=_STAGES, action="append", help="only this stage; may be repeated")
    parser.add_argument(
        "--gang-flag",
        action="append",
        default=[],
        help="flag of Volcano's scheduler as the contestant tuned, instead of those that are recommended: "
        "--gang-flag=--NAME=VALUE",
    )
    parser.add_argument(
        "--nodes", type=int, default=Crowd().nodes, help="nodes of stages validate and gangs (default: 1000)"
    )
    parser.add_argument("--pods", type=int, default=Crowd().pods, help="pods of stage validate (default: 10000)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--archives", type=Path, default=UPSTREAM, help="where manifests-RELEASE.tar.gz lie")
    parser.add_argument("--results", type=Path, default=ROOT / "reports/bench.json", help="file for the raw results")
    parser.add_argument(
        "--document", action="store_true", help="write the tables of what was measured into the pages in docs, too"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
