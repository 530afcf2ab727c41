"""What a message names of the platform: the workload behind a Service, a webhook, a kind or an account."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.catalog.data import cached
from kubeflow_volcano.catalog.model import Component, ObjectName
from kubeflow_volcano.catalog.read import OWN_FILES, load_component, load_release, releases, versions_of
from kubeflow_volcano.text import plurals

_MOST = 2
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,62})"
_HOST = re.compile(rf"(?<![\w.@-])({_LABEL})\.({_LABEL})(?:\.svc)?(?=[\s:/\"'),.\\]|$)")
_ACCOUNT = re.compile(rf"system:serviceaccount:({_LABEL}):({_LABEL})")
_WEBHOOK = re.compile(r"webhook \\?\"([a-z0-9.-]+)\\?\"")
_KIND = re.compile(
    rf"\b(?P<kind>[A-Za-z]\w+)\.(?P<group>{_LABEL}(?:\.{_LABEL})+)"
    rf"|\b(?P<group_before>{_LABEL}(?:\.{_LABEL})+)/(?P<plural>[a-z]+)"
    rf"|kind \\?\"(?P<unknown>\w+)\\?\" in version \\?\"(?P<group_of_it>{_LABEL}(?:\.{_LABEL})+)/"
)
_NAME = re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w/-])")
_OF_POD = re.compile(r"-(?:[a-z0-9]{5,10}-[a-z0-9]{5}|\d)$")
_PAGES: Mapping[str, str] = {
    "jupyter": "jupyter-web-app-deployment",
    "katib": "katib-ui",
    "kfam": "profiles-deployment",
    "pipeline": "ml-pipeline-ui",
    "tensorboards": "tensorboards-web-app-deployment",
    "volumes": "volumes-web-app-deployment",
}
"""Which workload has the pages below a path of the gateway (VirtualServices of the release)."""
_PAGE = re.compile(rf"https?://[^/\s\"']+/({'|'.join(_PAGES)})/")
_SUFFIX = re.compile(r"-(?:service|svc)$")
_COMMON = frozenset({"webhook", "server", "service", "controller", "manager", "deployment"})
"""Words of names that do not tell one program from another."""
_ANSWERS = ("webhook", "admission", "controller", "operator", "istiod")
"""Words in the name of the workload that answers for a component, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Part:
    """A workload of the platform, with the title of its component and the labels of its pods, where they are known."""

    workload: ObjectName
    title: str
    selector: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """What to look at."""
        name, place = self.workload.name, f"kubectl -n {self.workload.namespace}"
        pods = f"pods -l {self.selector}" if self.selector else f"{self.workload.kind.lower()} {name}"
        return f"{place} get {pods}", f"{place} logs {self.workload.kind.lower()}/{name} --all-containers --tail 50"


def parts_named(text: str) -> tuple[Part, ...]:
    """The workloads that a message speaks about: none for names of programs that no release has."""
    found = (*_by_host(text), *_by_webhook(text), *_by_pod(text), *_by_page(text), *_by_kind(text), *_by_account(text))
    return tuple(dict.fromkeys(found))[:_MOST]


def webhook_named(text: str) -> str:
    """The name of a webhook that refuses or does not answer; of no release where the message names no workload."""
    found = _WEBHOOK.search(text)
    return found[1] if found else ""


def _by_host(text: str) -> Iterator[Part]:
    for found in _HOST.finditer(text):
        yield from _behind(found[2], found[1])


def _by_account(text: str) -> Iterator[Part]:
    for found in _ACCOUNT.finditer(text):
        yield from _behind(found[1], found[2])


def _by_pod(text: str) -> Iterator[Part]:
    """By the names of pods and of workloads; a workload of one plain word only by that of a pod."""
    for found in _NAME.finditer(text):
        name = _OF_POD.sub("", found[0])
        yield from (part for part in _parts() if part.workload.name == name)


def _by_page(text: str) -> Iterator[Part]:
    for found in _PAGE.finditer(text):
        yield from (part for part in _parts() if part.workload.name == _PAGES[found[1]])


def _behind(namespace: str, name: str) -> tuple[Part, ...]:
    """The workload of a Service or ServiceAccount: of the same name, or the only one with the same telling words."""
    there = [part for part in _parts() if part.workload.namespace == namespace]
    bare = _SUFFIX.sub("", name)
    if found := [part for part in there if part.workload.name == bare]:
        return (found[0],)
    found = [part for part in there if _words(part.workload.name) == _words(name)]
    return (found[0],) if len({part.workload.name for part in found}) == 1 else ()


def _words(name: str) -> frozenset[str]:
    return frozenset(name.split("-")) - _COMMON


def _by_webhook(text: str) -> Iterator[Part]:
    for found in _WEBHOOK.finditer(text):
        if owner := _owner_of(found[1]):
            yield from _answering(owner)


def _owner_of(webhook: str) -> Component | None:
    """The component that a label of a webhook's domain names, or that has most of its end, two labels at least."""
    best, owners = 2, dict[str, Component]()
    for component in _components():
        names = [*(ref.name for ref in component.webhooks), *(name.partition(".")[2] for name in component.crds)]
        score = max((_shared(webhook, name) for name in names), default=0)
        if any(_words(label) == _words(component.name) for label in webhook.split(".")):
            score = max(score, 3)
        if score > best:
            best, owners = score, {}
        if score == best:
            owners.setdefault(_at_work(component).name, _at_work(component))
    return next(iter(owners.values())) if len(owners) == 1 else None


def _at_work(component: Component) -> Component:
    """The component itself, or the one whose kinds it brings: istio for istio-crds."""
    root = component.name.partition("-")[0]
    return component if component.workloads else next((item for item in _components() if item.name == root), component)


def _shared(left: str, right: str) -> int:
    """How many labels two domains have in common from their ends on."""
    count = 0
    for one, other in zip(reversed(left.split(".")), reversed(right.split(".")), strict=False):
        if one != other:
            break
        count += 1
    return count


def _by_kind(text: str) -> Iterator[Part]:
    for found in _KIND.finditer(text):
        kind = found["kind"] or found["plural"] or found["unknown"]
        group = found["group"] or found["group_before"] or found["group_of_it"]
        names = {f"{word}.{group}" for word in (kind.lower(), *plurals(kind.lower()))}
        owner = next((component for component in _components() if names & component.crds.keys()), None)
        if owner:
            yield from _answering(_at_work(owner), _ANSWERS[2:])


def groups_of(kind: str) -> Mapping[str, tuple[str, ...]]:
    """The groups of which a release or Volcano has the kind, each with its versions."""
    names = plurals(kind.lower())
    found: dict[str, tuple[str, ...]] = {}
    for component in _components():
        for name, versions in component.crds.items():
            plural, _, group = name.partition(".")
            if plural in names:
                found.setdefault(group, tuple(versions))
    return found


@cached
def known_groups() -> frozenset[str]:
    """The groups of all kinds of Kubeflow and Volcano."""
    groups = {name.partition(".")[2] for component in _components() for name in component.crds}
    return frozenset(group for group in groups if group.endswith(("volcano.sh", "kubeflow.org")))


def _answering(owner: Component, words: tuple[str, ...] = _ANSWERS) -> tuple[Part, ...]:
    """The workload of a component that answers for it: its webhook or its controller."""
    own = [part for part in _parts() if part.workload in owner.workloads]
    own.sort(key=lambda part: (owner.name not in part.workload.name, len(part.workload.name)))
    for word in words:
        if found := next((part for part in own if word in part.workload.name), None):
            return (found,)
    return tuple(own[:1])


@cached
def _components() -> tuple[Component, ...]:
    """Those of every release, the newest first, and those beside releases."""
    of_releases = [part for version in reversed(releases()) for part in load_release(version).components.values()]
    own = [load_component(name, version) for name in OWN_FILES for version in versions_of(name)[-1:]]
    return (*own, *of_releases)


@cached
def _parts() -> tuple[Part, ...]:
    found: dict[ObjectName, Part] = {}
    for component in _components():
        for ref in component.workloads:
            found.setdefault(ref, Part(ref, component.title, component.selectors.get(ref, "")))
    return tuple(found.values())
