"""The command `explain message`: what a pasted message means; no cluster is asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.catalog.symptoms.paste import Shown, alike, shown_by, unexplained
from kubeflow_volcano.catalog.symptoms.read import Symptom
from kubeflow_volcano.problems import Exit, InvalidInput
from kubeflow_volcano.validators.core.safe import text as safe_text
from kubeflow_volcano.validators.language.speaking import padded, say, speaking, translated, wrapped

_MOST_CHARACTERS = 1_000_000
_MOST_OF_A_LINE = 300
_OF_WEBHOOKS = ("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o wide",)


def explain_message(parsed: argparse.Namespace, words: Sequence[str]) -> tuple[str, Exit]:
    """Explain a message, or standard input: the text to print, and 3 where its cause is not known.

    Raises:
        InvalidInput: there is no text.
    """
    given = sys.stdin.read(_MOST_CHARACTERS) if list(words) in ([], ["-"]) else " ".join(words)
    if not given.strip():
        needed = "explain message 'TEXT', or the text on standard input."
        raise InvalidInput.problem("an empty message.", needed, "paste what the program wrote.")
    if getattr(parsed, "json", False):
        raise InvalidInput.problem("--json with explain message.", "nothing: it prints text.", "omit --json.")
    shown = shown_by(given)
    with speaking(parsed.language):
        if shown:
            lines = [line for number, item in enumerate(shown, 1) for line in _entry(number, item)]
            known = Exit.INCOMPLETE if all(item.symptom.consequence for item in shown) else Exit.OK
            return "\n".join([*_how_sure(given, shown), *lines]) + "\n", known
        return "\n".join(_unknown(given)) + "\n", Exit.INCOMPLETE


def _how_sure(given: str, shown: Sequence[Shown]) -> Iterator[str]:
    if all(item.symptom.consequence for item in shown):
        yield wrapped(say("The cause is not known here; what follows only says what came of it."))
        if line := unexplained(given, shown):
            yield from _labelled(say("Cause?"), _shortened(line))
        yield ""
    elif shown[0].is_kind:
        yield wrapped(
            say("No message of the table is in this text; what follows is what such an error means in any program.")
        )
        yield ""


def _entry(number: int, item: Shown) -> Iterator[str]:
    if number > 1:
        yield ""
    yield f"{number}. {item.symptom.reason}"
    yield from _labelled(say("Message"), _shortened(item.line))
    yield from _about(item.symptom)
    parts = item.parts
    for part in parts:
        yield from _labelled(say("Part"), f"{part.workload} ({part.title})")
        yield from _looks(say("look"), part.commands)
    if item.webhook and not parts:
        yield from _labelled(say("Part"), f"webhook {safe_text(item.webhook)}, {say('of no release')}")
        yield from _looks(say("look"), _OF_WEBHOOKS)


def _about(item: Symptom) -> Iterator[str]:
    yield from _labelled(say("Cause"), translated(safe_text(item.cause)))
    yield from _labelled(say("Do"), translated(safe_text(item.todo)))
    anywhere, there = item.looks
    yield from _looks(say("look"), anywhere)
    yield from _looks(say("node"), there)
    yield from _labelled(say("Read"), ", ".join(item.references))


def _looks(label: str, commands: Iterable[str]) -> Iterator[str]:
    yield from (f"     {padded(label, 8)}$ {safe_text(line)}" for line in commands)


def _labelled(label: str, text: str) -> Iterator[str]:
    yield wrapped(text, f"   {padded(label + say(': '), 9)}", 12)


def _unknown(given: str) -> Iterator[str]:
    yield wrapped(say("No message of the table is in this text, so its cause is not known here."))
    near = alike(given)
    if near:
        yield ""
        yield wrapped(say("Nearest by their words, which may be about something else") + say(": "))
    for item in near:
        yield ""
        yield f"- {item.reason}"
        yield from _labelled(say("Message"), _shortened(item.example))
        yield from _about(item)
    yield ""
    yield wrapped(
        say("Give more of the text, with the lines before it; explain job and a validation ask the cluster itself.")
    )


def _shortened(line: str) -> str:
    return safe_text(" ".join(line.split()), _MOST_OF_A_LINE)
