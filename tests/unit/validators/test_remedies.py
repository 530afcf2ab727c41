"""Commands of remedies: those that only look are apart from those that change, and each of these was tried."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from tests.integration.remedies import ELSEWHERE, LONG, OF_INVENTORY, QUICK, UNTRIED
from tests.places import ROOT

CHANGING = re.compile(
    r"\b(annotate|apply|cordon|create|delete|drain|edit|label|patch|replace|rollout|scale|set|taint|uncordon)\b"
)


def test_each_remedy_that_changes_something_was_tried_or_says_why_not() -> None:
    """A new one is added to the table of tests/integration/remedies.py, with a way to break a cluster for it."""
    others = (item for remedies in OF_INVENTORY.values() for item in remedies)
    tried = Counter(item.place for item in (*QUICK, *LONG, *others)) + Counter([*ELSEWHERE, *UNTRIED])
    needed = Counter(place for place, _ in values("changes") if place)
    assert set(tried) == set(needed)
    assert tried >= needed


def test_what_is_tried_elsewhere_names_a_test_that_is_there() -> None:
    for path, _, name in (text.partition(":") for text in ELSEWHERE.values()):
        assert f"def {name}(" in (ROOT / path).read_text()


def test_commands_that_only_look_change_nothing() -> None:
    looks = [text for _, value in values("commands") for text in texts(value)]
    assert len(looks) > 20
    assert [text for text in looks if text.startswith("kubectl") and CHANGING.search(text)] == []


def test_no_command_that_changes_hides_in_a_sentence() -> None:
    found = [text for _, value in values("todo") for text in texts(value) if re.search(r"kubectl \S", text)]
    assert [text for text in found if CHANGING.search(text.partition("kubectl")[2])] == []


def values(keyword: str) -> Iterator[tuple[str, ast.expr]]:
    """Place and value of everything that is passed under that name in validators/; not what is only handed on.

    A place is 'file:function', and the reason where it is a literal.
    """
    for where, function in _functions():
        for reason, value in _passed(function, keyword):
            yield f"{where}:{reason}".rstrip(":"), value


@cache
def _functions() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{path.relative_to(ROOT)}:{function.name}", function)
        for path in sorted((ROOT / "validators").rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
    ]


def _passed(function: ast.FunctionDef, keyword: str) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            reason = first if isinstance(first, str) and first.isidentifier() else ""
            found = [(reason, item.value) for item in node.keywords if item.arg == keyword]
        elif isinstance(node, ast.Dict):
            keys = (item.value if isinstance(item, ast.Constant) else "" for item in node.keys)
            found = [("", value) for key, value in zip(keys, node.values, strict=True) if key == keyword]
        else:
            continue
        yield from ((reason, value) for reason, value in found if not _handed_on(value, keyword))


def _handed_on(value: ast.expr, keyword: str) -> bool:
    empty = isinstance(value, ast.Tuple) and not value.elts
    return empty or any(isinstance(item, ast.Attribute) and item.attr == keyword for item in ast.walk(value))


def texts(value: ast.expr) -> Iterator[str]:
    """The literal texts in an expression, with a placeholder for what is computed."""
    inside = {id(part) for item in ast.walk(value) if isinstance(item, ast.JoinedStr) for part in ast.walk(item)}
    for item in ast.walk(value):
        if isinstance(item, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in item.values)
        elif isinstance(item, ast.Constant) and isinstance(item.value, str) and id(item) not in inside:
            yield item.value
