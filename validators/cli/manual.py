"""docs/checks.md: every check for reading. `python -m validators.cli.manual` writes it anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from validators.checks import CHECKS
from validators.checks.meta.meta import RUN
from validators.core.check import FAMILIES, Check
from validators.core.facts import Probe
from validators.core.rights import BACKENDS, HOMES, Rule
from validators.hosts.checks import CHECKS as HOST_CHECKS
from validators.report.document import MANUAL, anchor

__all__ = ["ALL_CHECKS", "render"]

ALL_CHECKS: tuple[Check, ...] = (*CHECKS, *HOST_CHECKS)
"""Those of clusters and those of hosts."""

_HEAD = f"""\
# Checks

What is judged, and what to do when it does not hold. Written by `.venv/bin/python -m validators.cli.manual` from the checks themselves; `{MANUAL}` is not edited by hand. `python -m validators explain D6` prints the same for one check, and each finding of a report links here.

A check ends as pass, warn, fail, skip (does not apply, and why) or error (could not be judged; never counted as passed).
Its severity says what a failure means: a **blocker** must have been judged for a run to pass; **major**, **minor** and **info** are judged where they can be.
Checks and families are chosen with `--select` (`validation_select`, for hosts `preflight_select`), and their findings accepted with `--waive` (`validation_waivers`, `preflight_waivers`) and a reason."""  # noqa: E501  paragraphs are lines

_NOTES = {
    "I": "What a run says of itself, judged after everything else. That a second roll-out changes nothing (I5 in the list of this family) is no matter of a validation, which sees no roll-out: `playbooks/install.yml` says so itself with `changed=0`, and tests/integration/test_rollout.py holds it to that."  # noqa: E501  paragraphs are lines
}
"""What is to be said of a family as a whole."""


def render() -> str:
    """The document's text."""
    families = {
        letter: [item for item in ALL_CHECKS if item.id[0] == letter]
        for letter in FAMILIES
        if any(item.id[0] == letter for item in ALL_CHECKS)
    }
    parts = [_HEAD, _contents(families.values())]
    for letter, checks in families.items():
        parts.append(f"## {letter}: {FAMILIES[letter]}")
        parts += [_NOTES[letter]] if letter in _NOTES else []
        parts += [_check(item) for item in checks]
    return "\n\n".join(parts) + "\n"


def _contents(families: Iterable[Sequence[Check]]) -> str:
    rows = [
        f"| [{item.id} {item.slug}](#{anchor(item)}) | {item.severity} | {_cell(item.title)} |"
        for checks in families
        for item in checks
    ]
    return "\n".join(("| check | severity | claim |", "| --- | --- | --- |", *rows))


def _check(item: Check) -> str:
    lines = [f"- Severity: {item.severity}"]
    if item.requires:
        lines.append(f"- Says nothing when these fail: {', '.join(map(_link, item.requires))}")
    if item.component:
        lines.append(f"- Only where the component `{item.component}` is chosen")
    if item.opt_in:
        flag = f"--{item.opt_in.replace('_', '-')}"
        lines.append(f"- Judged only when asked for, with `{flag}` (`validation_{item.opt_in}`)")
    if item.probe is RUN:
        lines.append("- Judged last, of the run itself")
    elif isinstance(item.probe, Probe):
        lines.append(f"- Judges what the probe `{item.probe.name}` finds out; skipped with `--read-only`")
    elif item.probe:
        lines.append("- Judged when everything that the probes created has been removed; skipped with `--read-only`")
    lines.append(f"- Needs: {_needs(item)}")
    if item.rules_with:
        lines.append(f"- Needs where the release holds them: {_rules(rule for _, rule in item.rules_with)}")
    remedy = "\n\n".join(" ".join(part.split()) for part in item.remedy.split("\n\n"))
    return f"### {item.id} {item.slug}\n\n**{item.title}.**\n\n{remedy}\n\n" + "\n".join(lines)


def _link(id_: str) -> str:
    (found,) = (item for item in ALL_CHECKS if item.id == id_)
    return f"[{found.id} {found.slug}](#{anchor(found)})"


def _needs(item: Check) -> str:
    """Rights on the Kubernetes API: verbs by resource."""
    if item in HOST_CHECKS:
        return "a login to the hosts, with become; no right on the Kubernetes API" + (
            f" but {_rules(item.rules)}" if item.rules else ""
        )
    return _rules(item.rules) if item.rules else "no right of its own"


def _rules(rules: Iterable[Rule]) -> str:
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for rule in rules:
        verbs.setdefault((rule.plural_group, rule.namespace), {})[rule.verb] = None
    return "; ".join(
        f"{', '.join(words)} `{resource}`{_within(namespace)}" for (resource, namespace), words in verbs.items()
    )


def _within(namespace: str) -> str:
    if namespace in {BACKENDS, HOMES}:
        return f" in {namespace}"
    return f" in `{namespace}`" if namespace else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(MANUAL).write_text(render(), encoding="utf-8")
