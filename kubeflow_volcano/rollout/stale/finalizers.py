"""Why an object that is being deleted does not disappear: its finalizers, their controller, and whether it lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.removing.wording import kubectl
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.finalizers import CRD_CLEANUP, domain_of, known_controller, nearest_group
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import assess
from kubeflow_volcano.cluster.stored_versions import storage_version
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few

_OF_NAMESPACES = "kubernetes"
"""The finalizer in the spec of every namespace: it goes when the contents are gone."""


def explain_terminating(
    cluster: Cluster, live: Object, components: Iterable[Component], *, variable: str = ""
) -> Problem:
    """The object, its finalizers, the controller that should act and how it is, and the command that ends it by hand.

    `variable` names the setting that strips finalizers of named objects, where the run has one.
    """
    ref = Ref.of(live)
    finalizers = [*(live["metadata"].get("finalizers") or ()), *((live.get("spec") or {}).get("finalizers") or ())]
    own = [item for item in finalizers if item not in {_OF_NAMESPACES, CRD_CLEANUP}]
    found = f"{ref} is being deleted, but is held" + (f" by {', '.join(own)}" if own else "") + "."
    found += "".join(f" {sentence}" for sentence in (*_contents(live), *_objects_of_kind(cluster, live)))
    if not own:
        todo = f"kubectl get {kubectl(ref)} -o yaml shows its conditions; remove what they name, and run again."
        return Problem(found, "an object that disappears once it is deleted.", todo)
    part = next(filter(None, (controller_of(ref, item, components) for item in own)), None)
    titles = list(dict.fromkeys(_title(item, part) for item in own))
    state = f" {_state(cluster, part)}" if part else ""
    start = f"install {part.name} again, or start its workloads," if part else "start it"
    last = f'kubectl patch {kubectl(ref)} --type merge -p \'{{"metadata":{{"finalizers":null}}}}\''
    if variable:
        last = f'set {variable}: ["{ref}"], or {last}'
    return Problem(
        f"{found}{state}",
        f"{few(titles, 3)}: it acts on the object and then removes its finalizer.",
        f"{start} and run again. If it is gone for good, clean up what it managed, then {last}",
    )


def controller_of(ref: Ref, finalizer: str, components: Iterable[Component]) -> Component | None:
    """The component whose controller removes the finalizer: by its domain, else the one that has the object's kind."""
    with_crds = [part for part in components if part.crds and part.workloads]
    kind = f"{ref.kind.lower()}"
    for part in with_crds:
        if any(name.startswith(kind) and name.partition(".")[2] == ref.group for name in part.crds):
            return part
    groups = {name.partition(".")[2]: part for part in with_crds for name in part.crds}
    return groups.get(nearest_group(domain_of(finalizer), groups))


def _title(finalizer: str, part: Component | None) -> str:
    known = known_controller(finalizer)
    if part:
        return f"the controller of {part.title}"
    return known or f"the controller that sets {finalizer} and is not part of the release"


def _state(cluster: Cluster, part: Component) -> str:
    """How the workloads of that component are."""
    states = []
    for ref in part.workloads:
        try:
            live = cluster.get(ref)
        except ApiError as error:
            states.append(f"{ref} cannot be read: {error}")
            continue
        states.append(assess(live).message.rstrip(".") if live else f"{ref} does not exist")
    return f"Its controller: {few(states, 3, '; ')}." if states else ""


def _objects_of_kind(cluster: Cluster, crd: Object) -> Iterator[str]:
    """The objects that keep a CRD, with their finalizers: the API server deletes them first."""
    if crd["kind"] != CRD_KIND:
        return
    version = f"{crd['spec']['group']}/{storage_version(crd)}"
    try:
        items = cluster.list(version, crd["spec"]["names"]["kind"], brief=True).items
    except ApiError as error:
        yield f"The objects of its kind cannot be listed: {error}."
        return
    names = [f"{Ref.of(item)} ({', '.join(item['metadata'].get('finalizers') or ['no finalizer'])})" for item in items]
    if names:
        yield f"Of its kind are left, with these finalizers: {few(names, 3)}."


def _contents(namespace: Object) -> Sequence[str]:
    """What the namespace controller says of a namespace that it cannot end."""
    if namespace["kind"] != "Namespace":
        return ()
    return [
        f"{item['message'].rstrip('.')}."
        for item in conditions(namespace).values()
        if item.get("status") == "True" and item.get("message")
    ]
