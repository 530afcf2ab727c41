"""What people read says things in the field's words; `tests/language.py` has the list, and a plainer word for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import language
from tests.places import ROOT


def test_no_words_that_read_as_translated() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{use.line}: {use.words!r} in {use.around!r}; better: {use.plainer}"
        for path in language.places()
        for use in language.uses(path)
    ]
    assert not found, f"{len(found)} left:\n" + "\n".join(found)


def test_every_room_is_covered() -> None:
    places = [path.relative_to(ROOT).parts for path in language.places()]
    rooms = {path.parent.name for path in (ROOT / "kubeflow_volcano").glob("*/__init__.py")}
    assert rooms - {parts[1] for parts in places if parts[0] == "kubeflow_volcano"} <= {"gang_demo", "validators"}
    tops = {"docs", "gang_demo", "inventory", "playbooks", "plugins", "README.md", "roles", "validators"}
    assert tops <= {parts[0] for parts in places}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A job starts again, and is started anew.", "anew"),
        ("Nobody's pods start", "Nobody's"),
        ("deleted by somebody else", "somebody else"),
        ("whoever runs this", "whoever"),
        ("what nodes are told", "are told"),
        ("told to gang", "told to"),
        ("the report tells of it", "tells of"),
        ("the class stands in the claim", "stands in"),
        ("what is held against the cluster", "is held against"),
        ("a kubelet that goes with its API server", "goes with"),
        ("what is asked for", "is asked for"),
        ("pods that ask for a GPU", "ask for"),
        ("a claim wants a volume", "wants a"),
        ("the login is of no use", "of no use"),
        ("a finalizer is taken away", "is taken away"),
        ("a stranger signs in", "stranger"),
        ("needs a waker", "waker"),
        ("a gang short of a member", "short of a member"),
        ("the mirror takes offence", "takes offence"),
        ("the way between the nodes is shut", "is shut"),
    ],
)
def test_words_are_found(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"# Page\n\n{text}\n", "utf-8")
    (found,) = language.uses(file)
    assert (found.line, found.words) == (3, words)
    assert found.plainer


@pytest.mark.parametrize(
    "text",
    [
        "The stub stands in for the gateway.",
        "sudo asks for a password.",
        "The API server is asked once.",
        "He was wanted, and the bookshelf was shut.",
        "The user nobody has uid 65534. <!-- plain: the name of a user -->",
    ],
)
def test_plain_words_are_not(text: str, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(text, "utf-8")
    assert not list(language.uses(file))


def test_strings_of_a_module_are_read_and_its_names_are_not(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        '''"""One line.

What is asked for.
"""

waker = {"anew": f"pod {__name__} is made anew"}  # whoever
user = "the user nobody"  # plain: its name
''',
        "utf-8",
    )
    assert [(use.line, use.words) for use in language.uses(file)] == [(3, "is asked for"), (6, "anew")]
