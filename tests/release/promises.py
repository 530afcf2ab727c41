"""What stays from one release to the next, as data of the product. `python -m tests.release.promises` prints it.

docs/stability.md says it in words. `make release` writes it to `promises.json` from version 1.0.0 on; what is promised
there and no longer holds is in `broken`, and has to be in `breaks.yaml` with what users do instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kubeflow_volcano import __version__
from kubeflow_volcano.command.main import COMMANDS
from kubeflow_volcano.problems import Exit
from kubeflow_volcano.rollout.settings.variables import schema
from kubeflow_volcano.validators.cli.manual import ALL_CHECKS
from tests.places import ROOT
from tests.release.covering import inlined, uncovered

RELEASED = Path(__file__).with_name("promises.json")
"""What the last release promised; absent before 1.0.0."""

BREAKS = Path(__file__).with_name("breaks.yaml")
"""Broken promises that the next major version is allowed: each key with what users do instead."""

_NAMES = ("commands", "playbooks", "roles")
_FOLLOWS_RELEASES = ("kubeflow_release", "rehearsal_cluster_generation")
_FOLLOWS_RELEASES_AT_END = ("_image", "_version")


class Broken(NamedTuple):
    """What was promised, such as `variables.kubeflow_release`, and what became of it."""

    key: str
    how: str

    def __str__(self) -> str:
        return (
            f"{self.key} {self.how}. Keep it until the next major version, beside what replaces it; or add it to "
            f"tests/release/{BREAKS.name}, with what users do instead, and the next release is a major one."
        )


def promises() -> dict[str, Any]:
    """Variables, exit codes, schemas of JSON documents, ids of checks, names of commands, playbooks and roles."""
    documents = files("kubeflow_volcano.validators").joinpath("schemas").iterdir()
    return {
        "version": __version__,
        "checks": {check.id: check.slug for check in ALL_CHECKS},
        "commands": sorted(COMMANDS),
        "exit_codes": {str(int(code)): code.name for code in Exit},
        "playbooks": sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml")),
        "roles": sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir()),
        "schemas": {
            file.name.removesuffix(".json"): inlined(json.loads(file.read_text("utf-8")))
            for file in sorted(documents, key=lambda each: each.name)
        },
        "variables": inlined(schema())["properties"],
    }


def render(found: Mapping[str, Any]) -> str:
    """Promises as a file whose lines are compared in reviews."""
    return json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def breaks() -> dict[str, str]:
    """What the next release may break, by key."""
    found: dict[str, str] = yaml.safe_load(BREAKS.read_text("utf-8"))
    return found


def broken(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Broken]:
    """What `old` promised and `new` does not keep. What is added breaks nothing."""
    for kind in _NAMES:
        yield from (Broken(f"{kind}.{name}", "is gone") for name in sorted({*old[kind]} - {*new[kind]}))
    for kind in ("checks", "exit_codes"):
        for name, meaning in old[kind].items():
            found = new[kind].get(name)
            if found is None:
                yield Broken(f"{kind}.{name}", f"({meaning}) is gone")
            elif found != meaning:
                yield Broken(f"{kind}.{name}", f"was {meaning}, and means {found} now")
    for name, document in old["schemas"].items():
        if name not in new["schemas"]:
            yield Broken(f"schemas.{name}", "is gone; a document of a new form gets a schema with the next number")
        else:
            found = uncovered(new["schemas"][name], document, documents=True)
            yield from (Broken(f"schemas.{name}", how) for how in found)
    for name, variable in old["variables"].items():
        yield from (Broken(f"variables.{name}", how) for how in _changed(name, variable, new["variables"].get(name)))


def _changed(name: str, old: Mapping[str, Any], new: Mapping[str, Any] | None) -> Iterator[str]:
    if new is None:
        yield "is gone"
        return
    yield from uncovered(old, new)
    follows = name in _FOLLOWS_RELEASES or name.endswith(_FOLLOWS_RELEASES_AT_END)
    if not follows and old.get("default") != new.get("default"):
        yield f"had the default {json.dumps(old.get('default'))}, and has {json.dumps(new.get('default'))} now"


if __name__ == "__main__":
    print(render(promises()), end="")  # noqa: T201 - this program's output
