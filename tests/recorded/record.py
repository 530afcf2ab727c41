"""Record a cluster: python -m tests.recorded.record NAME --kubeconfig FILE --about TEXT --source TEXT.

Reads what a validation reads and writes it to tests/recorded/clusters/NAME/facts.yaml. It makes dry runs and changes
nothing. Read the file before you commit it: names of people, hosts and registries are in it as the cluster has them.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.expectations import SCHEDULER
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.reading.collect import collect
from kubeflow_volcano.validators.reading.permissions import for_gang, placed
from kubeflow_volcano.validators.run.options import Options, expectations_of
from tests.recorded.recording import CLUSTERS, LIMIT, About, dump

_SECONDS = 10.0
_AGED = 900.0
"""So many seconds are added to the time of the recording: nothing in it is excused because it is young."""


def record(name: str, kubeconfig: Path, about: About) -> Path:
    """Read the cluster, and write its recording, whose path is returned.

    Raises:
        ValueError: something could not be read, or the recording is too large.
    """
    cluster, chosen = Cluster.connect(kubeconfig), about.options
    expectations, _ = expectations_of(Options(**chosen), cluster)
    checks = for_gang(CHECKS, expectations)
    facts = collect(
        cluster,
        checks,
        expectations,
        read_only=False,
        probe_namespace="",
        rights=placed(checks, expectations, probe_namespace="", read_only=False),
        seconds=_SECONDS,
        progress=to_stderr(),
        timing=Timing(),
    )
    facts = replace(facts, taken=facts.taken + _AGED)
    scheduler = f"{expectations.scheduler.namespace}/{expectations.scheduler.name}"
    moved = {"volcano_scheduler": scheduler} if expectations.scheduler != SCHEDULER else {}
    known = {"release": expectations.release, "gang_scheduler": expectations.gang_scheduler, **moved}
    text = dump(facts, replace(about, options={**chosen, **known}))
    if len(text) > LIMIT:
        raise ValueError(f"{len(text)} characters; at most {LIMIT}: choose a smaller profile.")
    path = CLUSTERS / name / "facts.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def main() -> None:
    """Record the cluster that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--about", required=True, help="what is special about it")
    parser.add_argument("--source", required=True, help="where it comes from")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="of the validation; YAML")
    given = parser.parse_args()
    chosen = {key: yaml.safe_load(value) for key, _, value in (item.partition("=") for item in given.option)}
    if unknown := chosen.keys() - {item.name for item in fields(Options)}:
        parser.error(f"no option of a validation: {', '.join(sorted(unknown))}")
    record(given.name, given.kubeconfig, About(given.about, given.source, chosen))


if __name__ == "__main__":
    main()
