"""Every image reference in plain objects; the known places are data (catalog/images/sites.yaml).

Text that looks like a reference in an unknown place is found, too, with the kind `unknown`, so that none is missed
silently. CRDs contain no references, only descriptions of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.tables import Site
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.images.references import texts
from kubeflow_volcano.rollout.images.references.places import InHub, InText, Path, Place, Put

CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
"""Lists whose items are containers, in pods and in whatever holds a pod's template."""


_FILLED_IN = "auto"
"""Placeholder in the pods of Istio's gateways, which the injector replaces by its proxy."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference in one place.

    `image` is complete, with the tag even if that is in another field; `text` is the text as written. Kinds: pod,
    environment, argument, config (all of them are used), code (a default, which a variable replaces), compiled (in a
    program), documentation (not used) and unknown. `put` says how to write another one there; None if it is not.
    """

    image: ImageName
    text: str
    ref: Ref
    site: str
    kind: str
    put: Put | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text of an object, with the mapping or list that contains it."""

    path: Path
    text: str
    parent: Any


def leaves(obj: Object) -> list[Leaf]:
    """Every text of an object in its order; none of a CRD."""
    leaves: list[Leaf] = []
    if obj["kind"] != "CustomResourceDefinition":
        _collect(obj, (), leaves)
    return leaves


def _collect(node: Any, path: Path, leaves: list[Leaf]) -> None:
    items: Iterable[tuple[str | int, Any]] = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, str):
            leaves.append(Leaf((*path, key), value, node))
        elif isinstance(value, dict | list):
            _collect(value, (*path, key), leaves)


def in_object(obj: Object) -> Iterator[Reference]:
    """The references in one object."""
    ref, kind, name = Ref.of(obj), obj["kind"], obj["metadata"]["name"]
    known = [site for site in tables.sites().sites if site.kind == kind and fnmatchcase(name, site.name)]
    for leaf in leaves(obj):
        site = next((site for site in known if site.holds(kind, name, leaf.path)), None)
        own = list(_in_site(ref, site, leaf) if site else _in_container(ref, leaf))
        yield from own
        if not own or site:
            yield from _rest(ref, leaf, own)


def _in_container(ref: Ref, leaf: Leaf) -> Iterator[Reference]:
    if len(leaf.path) < 3:  # noqa: PLR2004  a container is in a list of an object
        return
    step, above, outer = leaf.path[-1], leaf.path[-2], leaf.path[-3]
    if step == "image" and outer in CONTAINERS:
        if leaf.text != _FILLED_IN:
            yield from _whole(ref, leaf, "pod", 0)
    elif step == "value" and outer == "env":
        if any(fnmatchcase(leaf.parent.get("name", ""), pattern) for pattern in tables.sites().containers.environment):
            yield from _whole(ref, leaf, "environment", 0)
    elif above in {"args", "command"} and isinstance(step, int):
        flag, equals, _ = leaf.text.partition("=")
        if not equals:
            flag = leaf.parent[step - 1] if step else ""
        if any(fnmatchcase(str(flag), pattern) for pattern in tables.sites().containers.arguments):
            yield from _whole(ref, leaf, "argument", len(flag) + 1 if equals else 0)


def _whole(ref: Ref, leaf: Leaf, kind: str, start: int) -> Iterator[Reference]:
    text = leaf.text[start:]
    if image := ImageName.parse(text):
        yield Reference(
            image, text, ref, describe_path(leaf.path), kind, InText(Place(leaf.path, start, len(leaf.text)))
        )


def _in_site(ref: Ref, site: Site, leaf: Leaf) -> Iterator[Reference]:
    if site.form == "reference":
        yield from _whole(ref, leaf, "config", 0)
        return
    if site.form == "code":
        yield from _in_code(ref, site, leaf)
        return
    if site.form == "template":
        yield from _in_template(ref, leaf)
        return
    try:
        scalars = texts.scalars(leaf.text)
    except ValueError:
        return  # what looks like a reference in it is reported as unknown
    if site.form == "document":
        for scalar in scalars:
            image = ImageName.parse(scalar.text)
            if image and any(texts.fits(scalar.path, pattern) for pattern in site.inside):
                put = InText(_place(leaf, scalar))
                yield Reference(image, scalar.text, ref, describe_path(leaf.path, scalar.path), "config", put)
    elif site.form == "versioned":
        yield from _versioned(ref, leaf, scalars)
    else:
        yield from _in_hub(ref, leaf, scalars)


def _versioned(ref: Ref, leaf: Leaf, scalars: tuple[texts.Scalar, ...]) -> Iterator[Reference]:
    """Name and versions in sibling keys, as in KServe's predictors."""
    for name in scalars:
        image = ImageName.parse(name.text)
        if name.path[-1] != "image" or image is None:
            continue
        versions = [
            item for item in scalars if item.path[:-1] == name.path[:-1] and item.path[-1].endswith("ImageVersion")
        ]
        for version in versions:
            complete = ImageName(image.host, image.path, version.text)
            put = InText(_place(leaf, name), _place(leaf, version))
            yield Reference(complete, name.text, ref, describe_path(leaf.path, version.path), "config", put)
        if not versions:
            yield Reference(
                image, name.text, ref, describe_path(leaf.path, name.path), "config", InText(_place(leaf, name))
            )


def _in_hub(ref: Ref, leaf: Leaf, scalars: tuple[texts.Scalar, ...]) -> Iterator[Reference]:
    """Registry, name and tag in three keys, as in Istio's configuration of its proxy."""
    by_path = {scalar.path: scalar for scalar in scalars}
    hub, tag = by_path.get(("global", "hub")), by_path.get(("global", "tag"))
    if hub is None or tag is None:
        return
    keys = (("global", "proxy", "image"), ("global", "proxy_init", "image"))
    names = [by_path[key] for key in keys if key in by_path]
    for text in sorted({item.text for item in names} or {"proxyv2"}):
        same = tuple(_place(leaf, item) for item in names if item.text == text)
        image = ImageName.parse(text if "/" in text else f"{hub.text}/{text}:{tag.text}")
        puts = [InText(place) for place in same] if "/" in text else [InHub(_place(leaf, hub), same)]
        for put in puts:
            if image is None:
                continue
            yield Reference(
                image, text if "/" in text else hub.text, ref, describe_path(leaf.path, hub.path), "config", put
            )


def _in_template(ref: Ref, leaf: Leaf) -> Iterator[Reference]:
    """A template of a document: everything that looks like a reference is one."""
    for start, end in texts.suspects(leaf.text):
        if image := ImageName.parse(leaf.text[start:end]):
            put = InText(Place(leaf.path, start, end))
            yield Reference(image, leaf.text[start:end], ref, describe_path(leaf.path), "config", put)


def _in_code(ref: Ref, site: Site, leaf: Leaf) -> Iterator[Reference]:
    """Defaults of a hook; its Deployment can replace them, so `put` is set by `of_hooks`, which sees both."""
    for hook in tables.sites().hooks:
        if hook.site != site.id:
            continue
        for name in hook.images:
            for start, end in texts.literals(leaf.text, name):
                if image := ImageName.parse(leaf.text[start:end]):
                    yield Reference(image, leaf.text[start:end], ref, describe_path(leaf.path, (name,)), "code")


def _rest(ref: Ref, leaf: Leaf, references: list[Reference]) -> Iterator[Reference]:
    """Text that looks like a reference and was not recognized as one."""
    taken = {(item.put.name.start, item.put.name.end) for item in references if isinstance(item.put, InText)}
    hub = any(isinstance(item.put, InHub) for item in references)
    named = {item.image.repository for item in references if item.kind == "code"}
    idle = any(spot.holds(ref.kind, ref.name, leaf.path) for spot in tables.sites().documentation)
    for start, end in _suspects(leaf):
        image = ImageName.parse(leaf.text[start:end])
        if image is None or any(start < last and first < end for first, last in taken):
            continue
        if image.repository in named or hub:
            continue  # the same default again, in a comment; or a part of a composed reference
        kind = "documentation" if idle else "unknown"
        yield Reference(image, leaf.text[start:end], ref, describe_path(leaf.path), kind)


def _suspects(leaf: Leaf) -> Iterable[tuple[int, int]]:
    if leaf.text == _FILLED_IN:
        return ()
    if str(leaf.path[-1]).lower().endswith("image") and ImageName.parse(leaf.text):
        return ((0, len(leaf.text)),)
    return texts.suspects(leaf.text)


def _place(leaf: Leaf, scalar: texts.Scalar) -> Place:
    return Place(leaf.path, scalar.start, scalar.end)


def describe_path(path: Path, inner: tuple[str, ...] = ()) -> str:
    """A path as text, such as `data.suggestion: random.image`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return f"{text}: {'.'.join(inner)}" if inner else text
