"""A manifest, the pod templates in it, and what rules find wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.validators.core.facts import Fact, Facts, Unread
from kubeflow_volcano.validators.explain.kinds import KINDS, Kind
from kubeflow_volcano.validators.explain.manifest.edits import Edit
from kubeflow_volcano.validators.explain.manifest.schemas import Fault
from kubeflow_volcano.validators.explain.manifest.shape import all_faults
from kubeflow_volcano.validators.explain.manifest.templates import Path, Template, has_templates, shown, templates_of
from kubeflow_volcano.validators.explain.model import Finding, Job

FILES = Fact[tuple[Object, ...]]("files", lambda _cluster, _facts: (), ())
"""Every object of the files."""
REQUESTS = Fact[tuple[tuple[str, str], ...]]("requests", lambda _cluster, _facts: (), ())
"""What a person lets containers request that request nothing, by resource."""
_NAMESPACED = frozenset(
    {"LimitRange", "LocalQueue", "PersistentVolumeClaim", "PodGroup", "ResourceClaim", "ResourceClaimTemplate"}
)
Place = tuple[str, int, Path]
"""File, document and path of a manifest."""


@dataclass(frozen=True)
class Manifest:
    """One object of a file; `origin` is the file, `number` that of its document from 1 on.

    `namespace` is where the object goes if it names none itself.
    """

    origin: str
    number: int
    obj: Object
    namespace: str = "default"
    at: Path = ()
    """Where it is in the document; empty unless that is a List."""

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.origin, self.number, self.at

    @property
    def ref(self) -> Ref:
        """Its reference; what has pods, or is named by them, is in a namespace, whether it names one or not."""
        meta = self.obj["metadata"]
        name = str(meta.get("name") or f"{meta['generateName']}…")
        inside = meta.get("namespace") or (self.space if self.templates or self.kind in _NAMESPACED else "")
        return Ref(str(self.obj["apiVersion"]), self.kind, inside, name)

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.obj["kind"])

    @property
    def space(self) -> str:
        """The namespace that it is created in, if its kind is in namespaces."""
        return str(self.obj["metadata"].get("namespace") or self.namespace)

    @cached_property
    def templates(self) -> tuple[Template, ...]:
        """The pod templates in it; of a Pod, the pod itself."""
        return templates_of(self.obj)

    @cached_property
    def _kind(self) -> Kind | None:
        pair = self.obj["apiVersion"], self.obj["kind"]
        return next((item for item in KINDS.values() if (item.api_version, item.kind) == pair), None)

    @property
    def is_known(self) -> bool:
        """Whether rules know the fields of its kind: it has pod templates, or `explain job` takes it."""
        return has_templates(self.obj) or self._kind is not None

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """What its kind does not allow, as far as that is known without a cluster."""
        return all_faults(self.obj, is_job=self.is_known)

    @cached_property
    def wrong_types(self) -> tuple[str, ...]:
        """Values of another type than the API's, which no rule may meet."""
        wrong = (item for item in self.faults if item.reason == "WrongType")
        return tuple(f"{shown(item.path) or self.kind}:{item.said}" for item in wrong)

    def job(self, facts: Facts) -> Job | None:
        """It as a job; None for kinds that are no jobs."""
        if self._kind is None:
            return None
        meta = {
            **self.obj["metadata"],
            # Whatever stands there, such as kubectl's null: the server gives both.
            "uid": "",
            "creationTimestamp": "1970-01-01T00:00:00Z",
            "name": self.ref.name,
            "namespace": self.space,
        }
        return self._kind.read({**self.obj, "metadata": meta}, facts)


@dataclass(frozen=True, slots=True)
class Flaw(Finding):
    """A finding about a manifest. `edits` correct it; none where that takes a decision."""

    edits: tuple[Edit, ...] = ()
    refusal: str = ""
    """What a dry run was refused with, where that is all that is known."""
    words: tuple[str, ...] = ()
    """What a refusal for this reason contains; none where no dry run is refused for it."""


Rule = Callable[[Manifest, Facts], Iterator[Flaw]]
"""Finds one kind of flaw. Facts have the objects of all files beside those of the cluster.

It may raise CannotJudgeError where something about the cluster is unknown; no other exception.
"""


@dataclass(frozen=True, slots=True)
class Judged:
    """One manifest and what was found; `corrected` is what was found before its text was corrected."""

    manifest: Manifest
    findings: tuple[Flaw, ...]
    corrected: tuple[Flaw, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """All manifests, and what could not be judged. `cluster` is the API server that was asked; empty without one."""

    manifests: tuple[Judged, ...]
    unread: tuple[Unread, ...]
    cluster: str = ""

    @property
    def blocked(self) -> bool:
        """Whether a finding keeps a manifest from doing what it says."""
        return any(item.blocks for judged in self.manifests for item in judged.findings)

    @property
    def warned(self) -> bool:
        """Whether there is any finding."""
        return any(judged.findings for judged in self.manifests)


def flaw(
    reason: str,
    found: str,
    *,
    needed: str,
    todo: str,
    details: Sequence[str] = (),
    blocks: bool = True,
    edits: Iterable[Edit] = (),
    refusal: str = "",
    words: Sequence[str] = (),
) -> Flaw:
    """A flaw; it blocks where the object is refused, does not start, does not start together, or does not end."""
    return Flaw(
        reason,
        Problem(found, needed, todo),
        details=tuple(details),
        blocks=blocks,
        edits=tuple(edits),
        refusal=refusal,
        words=tuple(words),
    )
