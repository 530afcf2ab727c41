"""The catalog for reading: docs/releases.md, and the supported versions in README.md; `make generate` writes both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images.lost import lost_images, replaced_images, whole_releases
from kubeflow_volcano.catalog.model import Component, Defect, MinorRange, Release
from kubeflow_volcano.catalog.operator import COMPONENT

DOCUMENT = Path("docs/releases.md")
"""Its path in the checkout."""

FRONT_PAGES: Mapping[Path, Sequence[str]] = {
    Path("README.md"): ("Kubeflow", "Kubernetes", "tested", "Volcano", "operator"),
    Path("README.zh-CN.md"): ("Kubeflow", "Kubernetes", "已测试", "Volcano", "训练算子"),
}
"""Pages with the table of supported versions, between two marks, and its heads."""

_BEGIN, _END = "<!-- versions: make generate -->\n", "<!-- end of versions -->\n"


_PLUGINS = "scheduler-plugins"

_HEAD = f"""\
# Releases

The contents of `kubeflow_volcano/catalog`, written by `make generate`; do not edit `{DOCUMENT}` by hand.

**Kubernetes**: versions below the range are refused; versions above it are refused where the range has an end. **Tested**: from the minor that the release targets to the newest that upstream tests ran on; a roll-out to any other version warns. **Volcano**: the compatible versions; the first is the default of `volcano_version`. **Images**: of workloads, by the catalog; `image_mirror_catalog_overrides` uses the replacements of those that are gone, and a roll-out with an image that is gone without one is refused. Install components outside upstream's example by name (`kubeflow_components`)."""  # noqa: E501  paragraphs are lines


def render() -> str:
    """The document's text."""
    releases = [read.load_release(version) for version in read.releases()]
    volcanoes = [read.load_component("volcano", version) for version in read.versions_of("volcano")]
    plugins = [read.load_component(_PLUGINS, version) for version in read.versions_of(_PLUGINS)]
    operators = [read.load_component(COMPONENT, version) for version in read.versions_of(COMPONENT)]
    heads = (
        "Kubeflow",
        "Kubernetes",
        "tested",
        "kustomize",
        "operator",
        "Volcano",
        "local path",
        "components",
        "images",
    )
    names = [release.version for release in releases]
    parts = [
        _HEAD,
        _table(heads, map(_release, releases)),
        f"Releases whose images all exist: {', '.join(whole_releases())}.",
        "## Components\n\nIn upstream's order; components outside the example are *in italics*.",
        _table(("", *names), _components(releases)),
        "## Volcano",
        _table(
            ("Volcano", "Kubernetes, as stated"),
            ((item.version, str(item.kubernetes)) for item in volcanoes),
        ),
        "## Scheduler-plugins",
        _table(
            ("scheduler-plugins", "Kubernetes, by its version skew policy"),
            ((item.version, str(item.kubernetes)) for item in plugins),
        ),
        "## Training operator\n\nFrom its own source, for releases with none or another (`training_operator_version`).",
        _table(
            ("training operator", "Kubernetes, as stated", "manifests"),
            ((item.version, str(item.kubernetes or ""), _origin(item)) for item in operators),
        ),
        "## Known defects\n\n`playbooks/plan.yml` lists those that affect your components.",
        _table(("Kubeflow", "defect", "consequence", "handling"), _defects(releases)),
        "## Refused",
        _table(("Kubeflow", "component", "reason"), _refused(releases)),
    ]
    return "\n\n".join(parts) + "\n"


def with_versions(page: str, heads: Sequence[str]) -> str:
    """The text of a page with a current table of supported versions.

    Raises:
        ValueError: the page has lost one of the two marks.
    """
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    rows = (
        (
            release.version,
            _short(release.kubernetes),
            _short(release.kubernetes_range_tested),
            release.volcano_versions[0],
            f"{release.operator.kind} {release.operator.version}",
        )
        for release in map(read.load_release, read.releases())
    )
    return f"{before}{_BEGIN}{_table(heads, rows)}\n{_END}{after}"


def _short(minors: MinorRange) -> str:
    """A range in any language: 1.29+, 1.21-1.24, 1.34."""
    if minors.highest is None:
        return f"{minors.lowest}+"
    return minors.lowest if minors.lowest == minors.highest else f"{minors.lowest}-{minors.highest}"


def _origin(part: Component) -> str:
    return part.manifests if part.address else f"{part.manifests}; needs training_operator_source"


def _release(release: Release) -> Sequence[str]:
    example = sum(part.example for part in release.components.values())
    return (
        release.version,
        str(release.kubernetes),
        str(release.kubernetes_range_tested),
        release.kustomize_version,
        f"{release.operator.kind} {release.operator.version}",
        ", ".join(release.volcano_versions),
        release.local_path_version,
        f"{example} of the example and {len(release.components) - example} more",
        _images(release),
    )


def _images(release: Release) -> str:
    lost = {name: len(images) for name, images in lost_images(release).items()}
    replaced = sum(map(len, replaced_images(release).values()))
    parts = [f"{number} of {name} gone" for name, number in lost.items()] or ["all"]
    return ", ".join([*parts, *([f"{replaced} replaced"] if replaced else [])])


def _components(releases: Sequence[Release]) -> Iterator[Sequence[str]]:
    """A row per name; a name of later releases only follows the same predecessor as there."""
    names: list[str] = []
    for release in releases:
        place = 0
        for name in release.components:
            if name not in names:
                names.insert(place, name)
            place = names.index(name) + 1
    for name in names:
        yield f"`{name}`", *(_version(release, name) for release in releases)


def _version(release: Release, name: str) -> str:
    part = release.components.get(name)
    if part is None:
        return ""
    return part.version if part.example else f"*{part.version}*"


def _defects(releases: Iterable[Release]) -> Iterator[Sequence[str]]:
    """A row per defect and text, with the releases that have it."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for release in releases:
        for item in release.defects:
            texts = (f"`{item.id}`: {item.title}.", item.consequence, f"{_handled(item)}: {item.handling}")
            rows.setdefault(texts, []).append(release.version)
    for texts in sorted(rows, key=_id):  # variants of a defect are neighbours
        yield ", ".join(rows[texts]), *texts


def _id(texts: Sequence[str]) -> str:
    return texts[0].partition(":")[0]


def _handled(item: Defect) -> str:
    if isinstance(item.handled, bool):
        return "Handled" if item.handled else "Remains"
    given = " and ".join(f"`{name}: {_yaml(value)}`" for name, value in item.handled.items())
    return f"Handled with {given}, otherwise it remains"


def _yaml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refused(releases: Iterable[Release]) -> Iterator[Sequence[str]]:
    rows: dict[tuple[str, str], list[str]] = {}
    for release in releases:
        for name, reason in release.refused.items():
            rows.setdefault((f"`{name}`", reason), []).append(release.version)
    for texts, versions in rows.items():
        yield ", ".join(versions), *texts


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
