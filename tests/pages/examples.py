"""The table of examples/README.md: a row for each manifest of `examples/`."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.examples import Example, ExampleKind, examples

PAGE = "examples/README.md"

_MARKS = "<!-- examples: make generate -->", "<!-- end of examples -->"


def with_table(page: str) -> str:
    """The text of the page with a table of all examples between its marks."""
    begin, end = _MARKS
    head, _, rest = page.partition(begin)
    heads = ("example", "kinds", "from release", "what it shows", "what you see", "was started")
    rows = (heads, ["---"] * len(heads), *map(_row, examples()))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{head}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


def _row(example: Example) -> Sequence[str]:
    kinds = ", ".join(dict.fromkeys("vcjob" if _is_vcjob(item) else item.kind for item in example.kinds))
    texts = (_from(example), example.title, example.sees.replace("|", "\\|"), example.started)
    return f"[{example.path}]({example.path})", kinds, *texts


def _is_vcjob(item: ExampleKind) -> bool:
    return item.component == "volcano" and item.kind == "Job"


def _from(example: Example) -> str:
    """The first release, and from when on a component is needed that is outside of upstream's example."""
    if example.since is None:
        return "any, with Volcano"
    text = example.since
    for component in dict.fromkeys(item.component for item in example.kinds if item.since):
        extra = [
            version
            for version in read.releases()
            if (part := read.load_release(version).components.get(component)) and not part.example
        ]
        if extra:
            text += f"; from {extra[0]} on with the component {component}"
    return text
