"""Rules about admission: what dry runs of creating the object and its pods are refused with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, errored
from kubeflow_volcano.validators.explain.manifest.model import FILES, Flaw, Manifest, Place, flaw
from kubeflow_volcano.validators.explain.manifest.templates import Path, shown
from kubeflow_volcano.validators.reading.dry_runs import Answer

OBJECTS = Fact[Mapping[Place, Answer]]("dry runs of manifests", lambda _cluster, _facts: {}, {})
"""By place of the manifest, how a dry run was refused."""
PODS = Fact[Mapping[tuple[Place, Path], Object | Answer]]("dry runs of pods", lambda _cluster, _facts: {}, {})
"""By place of the manifest and path of the template, the pod as admission would change it, or how it was refused."""


def object_refused(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """The API server, or a webhook, refuses the object.

    Rule: none of its own: the answer to a dry run.
    """
    answer = facts.read(OBJECTS).get(manifest.place)
    _require_tried(answer, manifest)
    if answer and not _names_another(answer.text, manifest, facts):
        yield flaw(
            "Refused",
            f"in a dry run, the API server refused it: {_sentence(answer.text)}.",
            needed="an object that the API server accepts.",
            todo="do what the message says.",
            refusal=answer.text,
        )


def pod_refused(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """The API server, or a webhook, refuses the pods.

    Rule: none of its own: the answer to a dry run.
    """
    seen: set[str] = set()
    for template in manifest.templates:
        answer = facts.read(PODS).get((manifest.place, template.path))
        _require_tried(answer, manifest)
        if not isinstance(answer, Answer) or answer.text in seen or _names_another(answer.text, manifest, facts):
            continue
        seen.add(answer.text)
        yield flaw(
            "PodRefused",
            f"in a dry run, the API server refused a pod of {shown(template.path)}: {_sentence(answer.text)}.",
            needed="pods that the API server accepts.",
            todo="correct the pod template, or what the message names.",
            # A webhook may judge the account of a controller otherwise than the caller.
            blocks=answer.kind != "denied",
            refusal=answer.text,
        )


def admitted_pod(manifest: Manifest, path: Path, facts: Facts) -> Object | None:
    """A pod of the template as admission would change it; None where that is unknown."""
    found = facts.known(PODS).get((manifest.place, path))
    return None if isinstance(found, Answer) else found


def _require_tried(answer: Object | Answer | None, manifest: Manifest) -> None:
    """Raises CannotJudgeError where the dry run failed because the files bring the namespace."""
    if isinstance(answer, Answer) and f'namespaces "{manifest.space}" not found' in answer.text:
        message = f"no dry run was made in namespace {manifest.space}, which does not exist yet."
        todo = "create the namespace, and run the command again."
        raise CannotJudgeError(errored("NotTried", message, expected="an existing namespace", todo=todo))


def _names_another(text: str, manifest: Manifest, facts: Facts) -> bool:
    """Whether the refusal is about something that the files bring."""
    own = manifest.ref.name
    names = {str(item["metadata"].get("name", "")) for item in facts.known(FILES)} - {own, ""}
    return any(name in text for name in names)


def _sentence(text: str) -> str:
    """The message on one line; Volcano's has breaks within it and ends with a semicolon."""
    return " ".join(text.split()).rstrip(".; ")
