"""Every text of the validators that people read, found in the source, for translations.

    python -m tests.wording [LANGUAGE] [--release]

lists what has no translation (Chinese by default) and is shown in English: labels of reports, claims and remedies of
checks, remedies of symptoms, and the texts in the code of checks, with the expressions of f-strings in braces.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from kubeflow_volcano.catalog.symptoms.read import symptoms
from kubeflow_volcano.validators.cli.manual import ALL_CHECKS
from kubeflow_volcano.validators.core.check import FAMILIES
from kubeflow_volcano.validators.core.consequences import NOT_NEEDED, REASON
from kubeflow_volcano.validators.core.outcome import Severity, Status
from kubeflow_volcano.validators.core.results import Verdict
from kubeflow_volcano.validators.language.catalog import ENGLISH, LANGUAGES, catalog_of
from kubeflow_volcano.validators.language.translation import untranslated
from kubeflow_volcano.validators.report.summary import WORDS
from tests.places import ROOT

_REPORT = ROOT / "validators" / "report"
_RENDERINGS = tuple(
    ROOT / "validators" / name
    for name in ("cli/manual.py", "cli/messages.py", "explain/rendering.py", "explain/manifest/rendering.py")
)
_STATES = {"has started", "is suspended", "has succeeded", "has failed", "is not starting", "has not started yet"}
_PARTS = {"Found", "Needed", "Do"}
_CODE = (
    *(f"validators/{name}" for name in ("checks", "core", "explain", "hosts", "probes", "reading", "run", "subjects")),
    "kubeflow_volcano/cluster/readiness.py",
)
_OTHER = re.compile(
    r"\n.*\n|\\|\w\|\w|^set -e|^/"
    r"|^(?:ansible|cat|chmod|chown|crictl|echo|getent|grubby|kubectl|mkdir|printf|rm|semanage) "
)
"""Scripts, patterns and commands."""
_NOT_REPORTED = {"Problem", "ValueError", "TypeError", "progress", "self._progress", "session.progress"}
_VALUE = re.compile(r"(?<!\{)\{[^{}]+\}")
_SAMPLES = ("name", "7", "A1", "3 pods", "Pod ns/a")
_BEFORE = ("", "Deployment a/b ", "Deployment a/b is ", "see ")
_LABEL = re.compile(r"""say\((?:"([^"]*)"|'([^']*)')""")
_COUNTED = re.compile(r"""counted\([^']*, '([^']*)'""")
_CHANGES = re.compile(r"""^\{\{ changes\('(\w+)', '\w+', [\w.]+, '([^']*)'""", re.MULTILINE)


def labels() -> set[str]:
    """Headings and labels of reports: in Python, in the pages, and those that are made of words."""
    found = {label for path in (*_REPORT.rglob("*.py"), *_RENDERINGS) for label in _labels_of(path)}
    for path in _REPORT.rglob("*.j2"):
        text = path.read_text(encoding="utf-8")
        found |= {first or second for first, second in _LABEL.findall(text)} - {"{findings} "}
        found |= {f"{{number}} {noun}s" for noun in _COUNTED.findall(text)}
        found |= {label for word, which in _CHANGES.findall(text) for label in (word, f"{{findings}} {which}")}
    found |= {*WORDS.values(), *FAMILIES.values(), *Severity, *Status, *Verdict, "changed", "unchanged", "not begun"}
    found |= _STATES | _PARTS
    found |= {"{number} passed", "{number} failed", "{number} incomplete", "{number} with warnings"}
    return found | {re.sub(r"(?<=[a-z])(?=[A-Z])", " ", reason).lower() for reason in _reasons_of_skips()}


def _labels_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        words = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if node.func.id == "counted":
            yield from (f"{{number}} {noun}s" for noun in words)
        elif node.func.id in {"say", "_head", "_part", "_section"}:
            yield from words


def _reasons_of_skips() -> Iterator[str]:
    yield from (NOT_NEEDED, REASON, "Waived")
    for path in (ROOT / "validators").rglob("*.py"):
        yield from re.findall(r'skipped\(\s*"(\w+)"', path.read_text(encoding="utf-8"))


def claims() -> list[str]:
    """The claims of all checks."""
    return [item.title for item in ALL_CHECKS]


def remedies() -> list[str]:
    """What is said about each check, by paragraph, and about each known symptom."""
    said = [" ".join(part.split()) for item in ALL_CHECKS for part in item.remedy.split("\n\n")]
    known = symptoms()
    return [*said, *(f"Cause: {item.cause}." for item in known), *(item.todo for item in known)]


def messages() -> list[str]:
    """Texts of several words in the code of checks: sentences and parts of sentences, whether people read them or not.

    Values are expressions in braces.
    """
    found: dict[str, None] = {}
    for name in _CODE:
        path = ROOT / name
        for module in sorted({*path.rglob("*.py")} - {*_RENDERINGS}) if path.is_dir() else (path,):
            for text in _texts_of(module):
                if " " in text and re.search(r"[a-z]{2}", _VALUE.sub("", text)) and not _OTHER.search(text):
                    found.setdefault(text)
    return list(found)


def _texts_of(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    # Problems with options, and progress, are no part of a report.
    parts |= {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _NOT_REPORTED
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in parts:
            yield "".join(map(_part, node.values)).strip()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | parts:
            yield node.value.strip()


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"{{{re.sub('[{}]', '', ast.unparse(node.value))}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def missing_messages(language: str) -> list[str]:
    """Messages without a translation, whatever their values are and in whichever sentence a part of one may be."""
    return [text for text in messages() if not any(_known(text, sample, language) for sample in _SAMPLES)]


def _known(text: str, sample: str, language: str) -> bool:
    whole = _VALUE.sub(partial(_sample, usual=sample), re.sub(r"\.\{[^{}]+\}$", ".", text)).lstrip(",;: ")
    return any(not untranslated(before + whole, language) for before in _BEFORE)


def _sample(found: re.Match[str], usual: str) -> str:
    """A value that the expression may have."""
    for pattern, value in ((r"\bref\}", "Pod ns/a"), (r"\blen\(|seconds", "7"), (r"\bcounted\(", "3 pods")):
        if re.search(pattern, found[0]):
            return value
    return usual


def missing_labels(language: str) -> list[str]:
    """Labels without a translation."""
    return sorted(label for label in labels() if label not in catalog_of(language).labels)


def missing_texts(texts: Iterable[str], language: str) -> list[str]:
    """Those of these texts of which a sentence has no translation."""
    return [text for text in texts if untranslated(text, language)]


def main(arguments: Sequence[str]) -> int:
    """List what has no translation; returns the exit code, 1 if a release lacks something."""
    parser = argparse.ArgumentParser(prog="python -m tests.wording", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("language", nargs="?", default="zh", choices=sorted(set(LANGUAGES) - {ENGLISH}))
    parser.add_argument("--release", action="store_true", help="only what a release must have: labels and claims")
    options = parser.parse_args(arguments)
    found = [*missing_labels(options.language), *missing_texts(claims(), options.language)]
    if not options.release:
        found += [*missing_texts(remedies(), options.language), *missing_messages(options.language)]
    sys.stdout.writelines(f"{text}\n" for text in found)
    return int(options.release and bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
