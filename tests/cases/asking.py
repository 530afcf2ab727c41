"""Asks the product about cases without a cluster, each way as a person would."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.tables import architectures_of
from kubeflow_volcano.catalog.parts import Part
from kubeflow_volcano.catalog.shipped import images_of_release
from kubeflow_volcano.catalog.symptoms.logs import last_words
from kubeflow_volcano.catalog.symptoms.paste import Shown, shown_by
from kubeflow_volcano.catalog.symptoms.read import Symptom, recognise
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.images.rename.advice import too_deep
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.plan.account import judge_team_queues, judge_team_quotas
from kubeflow_volcano.rollout.plan.judging import judge_pod_security
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.validators.cli.commands import main
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.hosts import CHECKS as HOST_CHECKS
from tests.cases.case import Answer, Look
from tests.places import ROOT
from tests.recorded.planting import Planting
from tests.recorded.recording import load
from tests.recorded.verdicts import judged
from tests.samples import hosts


def answer_of(look: Look) -> Answer:
    """What the product says without a cluster."""
    return _WAYS[look.way](look)


def ran(*arguments: str) -> tuple[int, str]:
    """Exit code and standard output of `kubeflow-volcano` with these arguments."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(arguments)
    return code, out.getvalue()


def of_findings(code: int, text: str) -> Answer:
    """The answer in a document of `explain`."""
    document = json.loads(text)
    found = [item for each in document.get("manifests", [document]) for item in each["findings"]]
    says: dict[str, str] = {}
    for item in found:
        todo = [item["todo"], *item["commands"], *item["changes"]]
        says[item["reason"]] = "\n".join([says.get(item["reason"], ""), *todo])
    says |= {item["reason"]: item["todo"] for item in document["unread"] if item["reason"] not in says}
    return Answer(code, says, text=text)


def _manifest(look: Look) -> Answer:
    return of_findings(*ran("explain", "manifest", "--offline", "--json", str(look.folder / look.given)))


def _message(look: Look) -> Answer:
    """`given` is what a program wrote, `seen` where."""
    return _of_symptom(recognise(look.given, look.more["seen"]))


def _log(look: Look) -> Answer:
    """`given` is the log of a container that has ended."""
    return _of_symptom(last_words(look.given)[1])


def _paste(look: Look) -> Answer:
    """`given` is what a person pastes; the first symptom that is shown counts, the others are said beside it."""
    shown = shown_by(look.given)
    says = {item.symptom.reason: "\n".join([item.symptom.todo, *_looks(item)]) for item in reversed(shown)}
    text = [f"{item.symptom.cause} {item.symptom.todo}\n{'' if item.parts else item.webhook}" for item in shown[:1]]
    return Answer(None, says, text="\n".join([*text, *(f"{part.workload} {part.title}" for part in _parts(shown[:1]))]))


def _looks(item: Shown) -> list[str]:
    return [*item.symptom.commands, *(command for part in item.parts for command in part.commands)]


def _parts(shown: Iterable[Shown]) -> Iterator[Part]:
    return (part for item in shown for part in item.parts)


def _of_symptom(found: Symptom | None) -> Answer:
    if found is None:
        return Answer(None, {})
    return Answer(None, {found.reason: "\n".join([found.todo, *found.commands])}, text=f"{found.cause} {found.todo}")


def _recorded(look: Look) -> Answer:
    """`given` is the name of a recorded cluster, `plant` what is changed in its objects."""
    planting = Planting(load(look.given))
    for change in look.more.get("plant", ()):
        _plant(planting, change)
    results = judged(planting.facts)
    only = set(look.more.get("select", results))
    return answer_of_checks({id_: item.outcome for id_, item in results.items() if id_ in only})


def _plant(planting: Planting, change: Mapping[str, Any]) -> None:
    resource = change["resource"]
    if "add" in change:
        planting.add(resource, change["add"])
    elif "set" in change:
        planting.change(resource, change["name"], partial(_set, change["set"]))
    else:
        planting.lose(resource, lambda item: item["metadata"]["name"] == change["lose"])


def _set(values: Mapping[str, Any], item: Any) -> None:
    """Each value at its path, such as /spec/template/metadata/labels/app; none removes it."""
    for path, value in values.items():
        *parents, last = (key.replace("~1", "/") for key in path.split("/")[1:])
        at = item
        for key in parents:
            at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
        if value is None:
            at.pop(last, None)
        elif isinstance(at, list):
            at[int(last)] = value
        else:
            at[last] = value


def _hosts(look: Look) -> Answer:
    """`given` has for each host what differs from a good one, `inventory` what an inventory says."""
    found = hosts.facts(
        *(hosts.host(name, **parts) for name, parts in look.given.items()), **look.more.get("inventory", {})
    )
    return answer_of_checks({item.id: item(found) for item in HOST_CHECKS if item.id in look.more["select"]})


def answer_of_checks(outcomes: Mapping[str, Outcome], code: int | None = None) -> Answer:
    """What checks say that do not pass."""
    unlike = {
        f"{id_} {item.reason}": item for id_, item in outcomes.items() if item.status in {"fail", "warn", "error"}
    }
    return Answer(
        code,
        {name: "\n".join([item.todo, *item.commands, *item.changes]) for name, item in unlike.items()},
        {name: [str(ref) for ref in item.objects] for name, item in unlike.items()},
        "\n".join(f"{name}: {item.message} {item.todo}" for name, item in unlike.items()),
    )


def _plan(look: Look) -> Answer:
    """`given` are variables; what a plan says of them alone, and of the names of the release's images."""
    try:
        settings = parse(look.given)
    except InvalidInput as error:
        return _of_problems(error.problems, 2)
    findings = [*judge_pod_security(settings), *judge_team_queues(settings), *judge_team_quotas(settings)]
    rules = Rules(settings.mirror)
    names = map(ImageName.parse, images_of_release(settings.release.version).values())
    named = _of_problems([*too_deep(rules.decide(name) for name in names if name)], 0)
    text = "\n".join([named.text, *(f"{item.found} {item.needed} {item.todo}" for item in findings)])
    bad = {item.id: item.todo for item in findings if item.verdict != "pass"}
    return Answer(0, {**named.says, **bad}, text=text)


def _of_problems(problems: Sequence[Problem], code: int) -> Answer:
    text = "\n".join(f"{item.found} {item.needed} {item.todo}" for item in problems)
    return Answer(code, {"Problem": "\n".join(item.todo for item in problems)} if problems else {}, text=text)


def _image(look: Look) -> Answer:
    """`given` is an image; what is said are the architectures for which it may be: all of which nothing is known."""
    name = ImageName.parse(look.given)
    built = architectures_of(name) if name else None
    return Answer(None, dict.fromkeys(built.architectures if built else ("amd64", "arm64"), ""))


def _test(look: Look) -> Answer:
    """`given` is a test that holds the case, 'file::function'; the text is its source."""
    path, _, name = look.given.partition("::")
    assert (ROOT / path).is_file(), f"there is no {path}"
    for item in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(item, ast.FunctionDef) and item.name == name:
            return Answer(None, {}, text=ast.unparse(item))
    raise AssertionError(f"{path} has no {name}")


def _pages(_look: Look) -> Answer:
    """All pages of the documentation but the one about the cases."""
    texts = [
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")) if path.name != "cases.md"
    ]
    return Answer(None, {}, text="\n".join(texts))


_WAYS: Mapping[str, Callable[[Look], Answer]] = {
    "image": _image,
    "test": _test,
    "hosts": _hosts,
    "log": _log,
    "manifest": _manifest,
    "message": _message,
    "pages": _pages,
    "paste": _paste,
    "plan": _plan,
    "recorded": _recorded,
}
