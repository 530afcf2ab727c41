"""Checks described for people: as a list, one by one on a terminal, and all of them as docs/checks.md."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.meta.meta import RUN
from kubeflow_volcano.validators.core.check import FAMILIES, Check
from kubeflow_volcano.validators.core.facts import Probe
from kubeflow_volcano.validators.core.rights import HOMES, VOLCANO_HOME, Rule
from kubeflow_volcano.validators.hosts import CHECKS as HOST_CHECKS
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import padded, paragraphs, say, speaking, translated
from kubeflow_volcano.validators.report.document import MANUAL, anchor

ALL_CHECKS: tuple[Check, ...] = (*CHECKS, *HOST_CHECKS)
"""Checks of clusters and of hosts."""

_WIDTH = 110

_HEAD = f"""\
# Checks

What each check claims, and what to do when it fails. `make generate` writes this page from the checks; do not edit `{MANUAL}` by hand. `kubeflow-volcano explain D6` prints the same for one check, and each finding of a report links to this page.

A check ends as pass, warn, fail, skip (does not apply, with the reason) or error (could not be evaluated; never counts as passed).
Its severity says what a failure means: every **blocker** must have been evaluated for a run to pass; **major**, **minor** and **info** are evaluated where possible.
`--select` (`validation_select`, for hosts `preflight_select`) selects checks and families; `--waive` (`validation_waivers`, `preflight_waivers`) accepts their findings with a reason.

`--language zh` (`validation_language: zh`, `preflight_language: zh`) writes reports, `list` and `explain` in Chinese: claims, findings, remedies, headings. JSON, ids, reasons, names of objects and commands are the same in every language, and a text without a translation stays English."""  # noqa: E501  paragraphs are lines

_NOTES = {
    "I": "What a run reports about itself, evaluated after everything else. No check covers whether a second roll-out changes nothing (I5 in the list of this family), because a validation sees no roll-out: `playbooks/install.yml` reports it as `changed=0`, and tests/integration/test_rollout.py tests it."  # noqa: E501  paragraphs are lines
}
"""Remarks about a whole family."""


def overview(language: str = ENGLISH) -> str:
    """Every check in one line, by family, for a terminal."""
    lines: list[str] = []
    with speaking(language):
        for letter, checks in _families().items():
            lines.append(f"{letter} {say(FAMILIES[letter])}")
            for item in checks:
                severity = padded(say(item.severity), 8)
                lines.append(f"  {item.id:<3} {item.slug:<24} {severity} {translated(item.title)}")
    return "\n".join(lines) + "\n"


def describe(checks: Iterable[Check], language: str = ENGLISH) -> str:
    """Claim, remedy and properties of these checks, for a terminal."""
    lines: list[str] = []
    with speaking(language):
        for item in checks:
            lines.append(f"{item.id} {item.slug}{say(': ')}{translated(item.title)}")
            lines.append(textwrap.indent(paragraphs(item.remedy), "  "))
            properties = (say("Family: {family}", family=say(item.family)), *_properties(item, str, str))
            lines += [
                textwrap.fill(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ") for text in properties
            ]
    return "\n".join(lines) + "\n"


def render() -> str:
    """Text of docs/checks.md."""
    families = _families()
    parts = [_HEAD, _contents(families.values())]
    for letter, checks in families.items():
        parts.append(f"## {letter}: {FAMILIES[letter]}")
        parts += [_NOTES[letter]] if letter in _NOTES else []
        parts += [_section(item) for item in checks]
    return "\n\n".join(parts) + "\n"


def _families() -> Mapping[str, Sequence[Check]]:
    """The checks by family letter."""
    found = {letter: [item for item in ALL_CHECKS if item.id[0] == letter] for letter in FAMILIES}
    return {letter: checks for letter, checks in found.items() if checks}


def _contents(families: Iterable[Sequence[Check]]) -> str:
    rows = [f"| {_link(item.id)} | {item.severity} | {item.title} |" for checks in families for item in checks]
    return "\n".join(("| check | severity | claim |", "| --- | --- | --- |", *rows))


def _section(item: Check) -> str:
    remedy = "\n\n".join(" ".join(part.split()) for part in item.remedy.split("\n\n"))
    properties = "\n".join(f"- {text}" for text in _properties(item, _link, lambda text: f"`{text}`"))
    return f"### {item.id} {item.slug}\n\n**{item.title}.**\n\n{remedy}\n\n{properties}"


def _link(id_: str) -> str:
    (named,) = (item for item in ALL_CHECKS if item.id == id_)
    return f"[{named.id} {named.slug}](#{anchor(named.id, named.slug)})"


def _properties(item: Check, name: Callable[[str], str], code: Callable[[str], str]) -> Iterator[str]:
    """What else there is to know about a check; `name` formats the id of another one, `code` words of a computer."""
    yield say("Severity: {severity}", severity=say(item.severity))
    if item.requires:
        yield say("Skipped when these fail: {checks}", checks=", ".join(map(name, item.requires)))
    if item.component:
        yield say("Only if the component {component} is selected", component=code(item.component))
    if item.opt_in:
        flag = code(f"--{item.opt_in.replace('_', '-')}")
        yield say("Only with {flag} ({variable})", flag=flag, variable=code(f"validation_{item.opt_in}"))
    if item.probe is RUN:
        yield say("Evaluated last, about the run itself")
    elif isinstance(item.probe, Probe):
        words = "Evaluates the probe {probe}; skipped with {flag}"
        yield say(words, probe=code(item.probe.name), flag=code("--read-only"))
    elif item.probe:
        words = "Evaluated after everything that the probes created was deleted; skipped with {flag}"
        yield say(words, flag=code("--read-only"))
    if item in HOST_CHECKS:
        more = say(", and {rules} on the Kubernetes API", rules=_rules(item.rules, code)) if item.rules else ""
        yield say("Needs: a login to the hosts with become{more}", more=more)
    else:
        rules = _rules(item.rules, code) if item.rules else say("no permission of its own")
        yield say("Needs: {rules}", rules=rules)
    if item.rules_with:
        of_crds = _rules((rule for _, rule in item.rules_with), code)
        yield say("Needs for the CRDs of the release: {rules}", rules=of_crds)
    if item.lists_kinds:
        yield say("Needs for each CRD of the release: list its kind")


def _rules(rules: Iterable[Rule], code: Callable[[str], str]) -> str:
    """Permissions on the Kubernetes API: verbs by resource."""
    verbs: dict[tuple[str, tuple[str, ...], str], dict[str, None]] = {}
    for rule in rules:
        verbs.setdefault((rule.plural_group, rule.names, rule.namespace), {})[rule.verb] = None
    return "; ".join(
        f"{', '.join(words)} {code(resource)}{_called(names, code)}{_within(namespace, code)}"
        for (resource, names, namespace), words in verbs.items()
    )


def _called(names: Sequence[str], code: Callable[[str], str]) -> str:
    return f" {', '.join(map(code, names))}" if names else ""


def _within(namespace: str, code: Callable[[str], str]) -> str:
    if namespace in {HOMES, VOLCANO_HOME}:
        return say(" in {namespace}", namespace=translated(namespace))
    return say(" in {namespace}", namespace=code(namespace)) if namespace else ""
