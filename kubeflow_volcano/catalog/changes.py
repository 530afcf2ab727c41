"""What an upgrade changes by the entries of both versions: what cannot be changed in place, and what is left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.ref import Ref


class Changes(NamedTuple):
    """What is otherwise in the later version, of what a component of the earlier one has.

    `selectors`: workloads of both whose selector is another one. `unserved`: by CRD of both, the version in which
    objects are stored, where the later version does not serve it. `removed` are workloads, CRDs and webhook
    configurations that the later version lacks. `intercepts`: by kind of webhook configuration, the resources that only
    the later version intercepts, but for those of new CRDs.
    """

    component: str
    selectors: tuple[Ref, ...]
    unserved: Mapping[str, str]
    removed: tuple[Ref, ...]
    intercepts: Mapping[str, tuple[str, ...]]


def changes(earlier: Iterable[Component], later: Iterable[Component]) -> Iterator[Changes]:
    """Those of each component; what another component of the later version brings is not removed.

    What an entry does not say, such as selectors of one that is older than this field, is not compared.
    """
    new = {part.name: part for part in later}
    selectors = {ref: text for part in new.values() for ref, text in part.selectors.items()}
    served = {name: versions for part in new.values() for name, versions in part.crds.items()}
    there = {ref for part in new.values() for ref in part.central}
    old = [*earlier]
    kinds = {name.partition(".")[0] for name in served.keys() - {name for part in old for name in part.crds}}
    for part in old:
        now = _intercepted(new[part.name]) if part.name in new else {}
        before = _intercepted(part)
        yield Changes(
            part.name,
            tuple(ref for ref, text in part.selectors.items() if selectors.get(ref, text) != text),
            {
                name: stored
                for name, versions in part.crds.items()
                if (stored := part.stored.get(name) or (versions[0] if len(versions) == 1 else ""))
                and served.get(name)
                and stored not in served[name]
            },
            tuple(ref for ref in part.central if ref not in there and ref.kind != "Job"),
            {
                kind: more
                for kind, names in now.items()
                if (more := tuple(sorted(names - before.get(kind, kinds) - kinds)))
            }
            if part.intercepts or not part.webhooks
            else {},
        )


def _intercepted(part: Component) -> dict[str, set[str]]:
    """The resources that its webhook configurations intercept, by their kind."""
    found: dict[str, set[str]] = {}
    for ref, resources in part.intercepts.items():
        found.setdefault(ref.kind, set()).update(resources)
    return found
