"""Family A: do the planned images run, and which Kubeflow release is this."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.text import counted
from validators.checks.reach.planned_images import Running, running
from validators.checks.reach.recognition import Recognised, marks, recognise
from validators.core.check import check
from validators.core.facts import Facts, Read
from validators.core.outcome import Outcome, Severity, Status, passed, skipped, warned
from validators.core.resources import CRDS
from validators.subjects import workloads
from validators.subjects.troubles import Trouble, few, verdict

__all__ = ["CHECKS"]

_READS: tuple[Read, ...] = (*workloads.READS, CRDS)


@check("A8", "images-as-planned", severity=Severity.MAJOR, reads=_READS)
def images_as_planned(facts: Facts) -> Outcome:
    """Every workload of the release runs the image that is planned for it.

    Planned is what the release's manifests name, after the inventory's overrides and mirror rules where an inventory
    is validated; then another version fails. Without one, names of mirrors are nobody's concern, and another version
    is a warning. Different contents under one name mean that the tag was pushed anew between two pulls: name the image
    by digest, or pull it again on all nodes. Run the roll-out to get back to the plan, or put into the plan what you
    want (image_mirror_overrides).
    """
    found = running(facts)
    if not found:
        return skipped("NoPlan", "no image is planned for any workload that is here.")
    elsewhere = sum(item.elsewhere for item in found)
    mirrored = f" {counted(elsewhere, 'image')} from another registry." if elsewhere else ""
    return verdict(
        sorted(_differing(facts, found), key=lambda item: item.status is not Status.FAIL),
        list(dict.fromkeys(item.workload for item in found)),
        claim=f"{counted(len(found), 'container')} as planned.{mirrored}",
        expected="the planned name, or without an inventory its last step and version; one content under each name",
    )


def _differing(facts: Facts, found: tuple[Running, ...]) -> Iterator[Trouble]:
    exact = facts.expectations.images_exact
    for item in found:
        where = f"{item.workload}, container {item.container},"
        if not (item.same or item.elsewhere):
            text = f"{where} runs {item.image}; planned is {item.planned}."
            status = Status.FAIL if exact else Status.WARN
            todo = "run the roll-out, or change the plan."
            yield Trouble("A8", status, item.workload, "OtherImage", text, todo, _because(facts))
        elif item.elsewhere and exact:
            text = f"{where} runs {item.image}; planned is the same image as {item.planned}."
            todo = "see who renames images, or run the roll-out with the mirror's rules."
            yield Trouble("A8", Status.WARN, item.workload, "OtherRegistry", text, todo)
        if len(item.contents) > 1:
            text = f"{where} runs {len(item.contents)} contents under the name {item.image}."
            todo = "name the image by its digest, or pull it again on all nodes."
            yield Trouble("A8", Status.WARN, item.workload, "MovedTag", text, todo)


def _because(facts: Facts) -> tuple[str, ...]:
    """A9 where the plan is that of another release than the cluster looks like."""
    recognised = None if facts.expectations.images_exact else recognise(marks(facts))
    return ("A9",) if recognised and facts.expectations.release not in recognised.releases else ()


@check("A9", "release-recognised", severity=Severity.INFO, reads=_READS)
def release_recognised(facts: Facts) -> Outcome:
    """The cluster looks like one Kubeflow release, and like the one that it is judged by.

    Told by images, labels and the versions of CRDs, whoever installed it. Marks of another release show an upgrade
    that was not finished, or a part that somebody replaced; several of no known release, a release between those that
    the catalog knows, and the nearest is named. Where the cluster is another release than it was judged by, name it
    with --release: what was expected of it was wrong.
    """
    found = marks(facts)
    recognised = recognise(found)
    if recognised is None:
        return skipped("NoKubeflow", "nothing here is known from a Kubeflow release.")
    names, judged_by = " or ".join(recognised.releases), facts.expectations.release
    text = (
        f"looks like Kubeflow {names}, with {recognised.confidence} confidence: "
        f"{recognised.fitting} of {counted(recognised.marks, 'mark')} fit."
    )
    observed = {
        "release": names,
        "confidence": recognised.confidence,
        "marks": recognised.marks,
        "against": {f"{item.ref} {item.found}": _of(item.releases) for item in recognised.against},
    }
    if judged_by and judged_by not in recognised.releases:
        return warned(
            "OtherRelease",
            f"{text} It was judged as {judged_by}.",
            expected=f"Kubeflow {judged_by}",
            observed=observed,
            objects=[item.ref for item in found if item.releases.intersection(recognised.releases)],
            todo=f"validate it with --release {recognised.releases[-1]}.",
        )
    if recognised.against:
        return warned(
            "Mixed",
            f"{text} Against it: {_against(recognised)}.",
            expected=f"marks of Kubeflow {names} alone",
            observed=observed,
            objects=[item.ref for item in recognised.against],
            todo="finish the upgrade, or remember that these parts are not the release's.",
        )
    return passed(text, objects=[item.ref for item in found], observed=observed)


def _against(recognised: Recognised) -> str:
    return few([f"{item.ref} has {item.found}, of {_of(item.releases)}" for item in recognised.against], most=3)


def _of(releases: frozenset[str]) -> str:
    return ", ".join(sorted(releases)) or "no known release"


CHECKS = (images_as_planned, release_recognised)
