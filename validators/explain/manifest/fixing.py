"""Corrects the text of manifests as far as that takes no decision, and judges the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kubeflow_volcano.validators.explain.manifest import edits
from kubeflow_volcano.validators.explain.manifest.documents import Source, parse
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Judgement, Manifest, Place

_ROUNDS = 5


def fix(
    sources: Sequence[Source], namespace: str, judge: Callable[[Sequence[Manifest]], Judgement]
) -> tuple[tuple[Source, ...], Judgement]:
    """The corrected sources and what is found in them; a correction may bring another flaw to light, for some rounds.

    Args:
        sources: the files.
        namespace: that of objects which name none.
        judge: finds what is wrong.
    """
    corrected: dict[Place, list[Flaw]] = {}
    for _ in range(_ROUNDS):
        judgement = judge([item for source in sources for item in source.manifests])
        texts = {source.origin: source.text for source in sources}
        for judged in judgement.manifests:
            for flaw in judged.findings:
                if changed := _corrected(texts[judged.manifest.origin], judged.manifest, flaw):
                    texts[judged.manifest.origin] = changed
                    corrected.setdefault(judged.manifest.place, []).append(flaw)
        if all(texts[source.origin] == source.text for source in sources):
            break
        sources = [parse(source.origin, texts[source.origin], namespace) for source in sources]
    with_corrections = (
        replace(item, corrected=tuple(corrected.get(item.manifest.place, ()))) for item in judgement.manifests
    )
    return tuple(sources), replace(judgement, manifests=tuple(with_corrections))


def _corrected(text: str, manifest: Manifest, flaw: Flaw) -> str | None:
    """The text without the flaw; None where it cannot be corrected alone."""
    if not flaw.edits:
        return None
    return edits.apply(text, manifest.number, [replace(edit, path=(*manifest.at, *edit.path)) for edit in flaw.edits])


def joined(sources: Sequence[Source]) -> str:
    """All of them as one file of several documents."""
    text = ""
    for source in sources:
        if text and not source.text.startswith("---"):
            text += "---\n"
        text += source.text if source.text.endswith("\n") else f"{source.text}\n"
    return text
