"""Family A, versions: do the planned images run, and which Kubeflow release is this."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.reach.planned_images import Running, running
from kubeflow_volcano.validators.checks.reach.recognition import Recognised, marks, recognise
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import CRDS
from kubeflow_volcano.validators.subjects import workloads
from kubeflow_volcano.validators.subjects.issues import Issue, verdict

_READS: tuple[Read, ...] = (*workloads.READS, CRDS)


@check("A8", "images-as-planned", severity=Severity.MAJOR, reads=_READS)
def images_as_planned(facts: Facts) -> Outcome:
    """Every workload of the release runs its planned image.

    The plan is the image in the release's manifests, after overrides and mirror rules if an inventory is validated;
    then another version fails. Without an inventory the registry may differ, and another version is a warning.
    Different digests for one name mean that the tag was pushed again between two pulls: pin the image by digest, or
    pull it again on all nodes. Run the rollout to return to the plan, or change the plan (image_mirror_overrides).
    """
    instances = running(facts)
    if not instances:
        return skipped("NoPlan", "no image is planned for any existing workload.")
    elsewhere = sum(item.elsewhere for item in instances)
    mirrored = f" {counted(elsewhere, 'image')} from another registry." if elsewhere else ""
    return verdict(
        sorted(_differing(facts, instances), key=lambda item: item.status is not Status.FAIL),
        list(dict.fromkeys(item.workload for item in instances)),
        claim=f"{counted(len(instances), 'container')} with the planned image.{mirrored}",
        expected="the planned name, or without an inventory its last path element and version; one digest per name",
    )


def _differing(facts: Facts, instances: tuple[Running, ...]) -> Iterator[Issue]:
    exact = facts.expectations.images_exact
    for item in instances:
        where = f"{item.workload}, container {item.container},"
        if not (item.same or item.elsewhere):
            text = f"{where} runs {item.image}; the plan is {item.planned}."
            status = Status.FAIL if exact else Status.WARN
            todo = "run the rollout, or change the plan."
            yield Issue("A8", status, item.workload, "OtherImage", text, todo, _because(facts))
        elif item.elsewhere and exact:
            text = f"{where} runs {item.image}; the plan is the same image from {item.planned}."
            todo = "find out what renames images, or run the rollout with the mirror rules."
            yield Issue("A8", Status.WARN, item.workload, "OtherRegistry", text, todo)
        if len(item.contents) > 1:
            text = f"{where} runs {len(item.contents)} different digests of {item.image}."
            todo = "pin the image by digest, or pull it again on all nodes."
            yield Issue("A8", Status.WARN, item.workload, "MovedTag", text, todo)


def _because(facts: Facts) -> tuple[str, ...]:
    """A9 if the plan is for another release than the recognized one."""
    recognised = None if facts.expectations.images_exact else recognise(marks(facts))
    return ("A9",) if recognised and facts.expectations.release not in recognised.releases else ()


@check("A9", "release-recognised", severity=Severity.INFO, reads=_READS)
def release_recognised(facts: Facts) -> Outcome:
    """The cluster runs one Kubeflow release, the one it is validated against.

    The release is recognized by images, labels and CRD versions, however it was installed. Marks of another release
    show an incomplete upgrade or a replaced part. If the release is not in the catalog, the nearest one is named. If
    the cluster runs another release than the one it is validated against, set --release.
    """
    seen = marks(facts)
    recognised = recognise(seen)
    if recognised is None:
        return skipped("NoKubeflow", "no object of a known Kubeflow release was found.")
    names, judged_by = " or ".join(recognised.releases), facts.expectations.release
    text = (
        f"recognized as Kubeflow {names} with {recognised.confidence} confidence: "
        f"{recognised.fitting} of {counted(recognised.marks, 'mark')} match."
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
            f"{text} It was validated as {judged_by}.",
            expected=f"Kubeflow {judged_by}",
            observed=observed,
            objects=[item.ref for item in seen if item.releases.intersection(recognised.releases)],
            todo=f"validate it with --release {recognised.releases[-1]}.",
        )
    if recognised.against:
        return warned(
            "Mixed",
            f"{text} Contrary marks: {_against(recognised)}.",
            expected=f"only marks of Kubeflow {names}",
            observed=observed,
            objects=[item.ref for item in recognised.against],
            todo="finish the upgrade, or keep in mind that these parts are not from this release.",
        )
    return passed(text, objects=[item.ref for item in seen], observed=observed)


def _against(recognised: Recognised) -> str:
    return few([f"{item.ref} has {item.found}, of {_of(item.releases)}" for item in recognised.against], most=3)


def _of(releases: frozenset[str]) -> str:
    return ", ".join(sorted(releases)) or "no known release"
