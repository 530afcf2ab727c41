"""docs/checks.md says what the checks say, and every finding's link leads into it."""

from __future__ import annotations

import re

from kubeflow_volcano.validators.cli.manual import ALL_CHECKS, render
from kubeflow_volcano.validators.report.document import anchor


def anchors(markdown: str) -> list[str]:
    """Fragments of headings as Markdown renderers make them: lower case, without marks, hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_every_check_has_its_own_section_with_claim_remedy_and_needs() -> None:
    text = render()
    found, sections = anchors(text), text.split("\n### ")
    for item in ALL_CHECKS:
        assert found.count(anchor(item.id, item.slug)) == 1
        (section,) = (part for part in sections if part.startswith(f"{item.id} {item.slug}\n"))
        assert f"**{item.title}.**" in section
        assert " ".join(item.remedy.split()) in " ".join(section.split())
        assert f"- Severity: {item.severity}\n" in section
        for rule in item.needs:
            assert re.search(rf"\b{rule.verb}\b[a-z, ]*`{re.escape(rule.plural_group)}`", section)


def test_every_link_within_leads_somewhere() -> None:
    text = render()
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(anchors(text))
