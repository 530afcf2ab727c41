"""Family E: the accounts of users: a password of one's own, one owner of everything, and no way in for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.network.sign_in import CONFIGURATION, DEX, SIGN_IN, SignIn
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import (
    CannotJudgeError,
    Outcome,
    Severity,
    Status,
    errored,
    failed,
    passed,
    skipped,
    warned,
)
from kubeflow_volcano.validators.core.resources import NAMESPACES, PROFILES
from kubeflow_volcano.validators.subjects import simulation, workloads
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged, verdict

_CONTROLLER = Ref("apps/v1", "Deployment", "kubeflow", "profiles-deployment")
_DEX = "dex"
"""The component."""
_PART_OF = ("app.kubernetes.io/part-of", "kubeflow-profile")
"""Label by which admission webhooks know the namespace of a profile."""
_READ_PROFILES: tuple[Read, ...] = (
    PROFILES,
    NAMESPACES,
    *workloads.READS,
)


def _sign_in(facts: Facts) -> SignIn:
    try:
        sign_in = facts.read(SIGN_IN)
    except CannotJudgeError as stop:
        if stop.outcome.reason != "Forbidden" or _DEX in facts.expectations.components:
            raise
        # The run asks for no rights in the namespace of a Dex that nobody chose.
        rules = ", ".join(map(str, SIGN_IN.needs))
        text = f"{DEX} is there without being chosen, and its users were not read. This needs further rights: {rules}."
        raise CannotJudgeError(skipped("NotRead", text, objects=(DEX,))) from stop
    if sign_in is None:
        raise CannotJudgeError(skipped("NotInstalled", f"there is no {DEX}."))
    if not sign_in.emails:
        text = "Dex has no user with a password of its own; others say who signs in."
        raise CannotJudgeError(skipped("NoStaticUser", text, objects=(CONFIGURATION,)))
    return sign_in


@check("E4", "published-password", severity=Severity.MAJOR, reads=(SIGN_IN,))
def published_password(facts: Facts) -> Outcome:
    """The password that upstream publishes is not accepted.

    Everyone who reaches the gateway knows it. Install component dex again with a password of your own
    (kubeflow_user_password), or without one: then a random password is generated.
    """
    sign_in = _sign_in(facts)
    if sign_in.published:
        make = warned if facts.expectations.published_password else failed
        asked = ", as the settings ask (kubeflow_published_password)" if facts.expectations.published_password else ""
        return make(
            "PublishedPassword",
            f"{', '.join(sign_in.published)} signs in with the password of upstream's README{asked}.",
            expected="a password that is not published",
            observed={"users": list(sign_in.published)},
            objects=(CONFIGURATION,),
            todo="install component dex again with a kubeflow_user_password of your own; empty makes a random one.",
        )
    if sign_in.unknown:
        return errored(
            "HashNotFound",
            f"no hash of {', '.join(sign_in.unknown)} was found where Dex looks for it.",
            expected="a hash in its configuration or in a Secret that feeds its environment",
            objects=(CONFIGURATION, DEX),
            todo="check hashFromEnv in its configuration and envFrom of its Deployment: no hash means no login.",
        )
    return passed(f"{len(sign_in.emails)} users of Dex have a password of their own.", objects=(CONFIGURATION,))


@check("E5", "profile-visible", severity=Severity.MAJOR, reads=_READ_PROFILES)
def profile_visible(facts: Facts) -> Outcome:
    """Every profile has its namespace, which belongs to the profile's owner.

    The profile controller leaves a namespace alone that has another owner, or none, and the dashboard then shows no
    namespace. Hand the namespace over with the command below, or give the profile another name.
    """
    profiles = [*judged(facts, PROFILES)]
    if not profiles:
        raise CannotJudgeError(skipped("NoProfile", "there is no profile."))
    unmade = simulation.simulated_workload(facts, _CONTROLLER)
    missing = [item for item in profiles if facts.get(NAMESPACES, "", item["metadata"]["name"]) is None]
    if unmade and len(missing) == len(profiles):
        lacking = counted(len(missing), "profile")
        text = f"{_CONTROLLER} is simulated in this rehearsal: no controller creates the namespaces of {lacking}."
        raise CannotJudgeError(skipped("Simulated", text, objects=(_CONTROLLER,)))
    looked_at = [item for item in profiles if not (unmade and item in missing)]
    issues = [issue for item in looked_at if (issue := _namespace(item, facts))]
    refs = [Ref.of(item) for item in looked_at]
    outcome = verdict(
        issues,
        refs,
        claim=f"{len(refs)} profiles have their namespace.",
        expected="a namespace of the profile's name, with the profile's owner in its annotation owner",
    )
    foreign = {item.ref.name for item in issues if item.reason == "OtherOwner"}
    changes = tuple(
        f"kubectl annotate namespace {item['metadata']['name']} owner={_owner(item)} --overwrite"
        for item in looked_at
        if item["metadata"]["name"] in foreign
    )
    return replace(outcome, changes=changes)


def _owner(profile: Object) -> str:
    name: str = ((profile.get("spec") or {}).get("owner") or {}).get("name", "")
    return name


def _namespace(profile: Object, facts: Facts) -> Issue | None:
    name, owner = profile["metadata"]["name"], _owner(profile)
    ref = Ref("v1", "Namespace", "", name)
    namespace = facts.get(NAMESPACES, "", name)
    if namespace is None:
        young = age(profile, facts) < facts.timing.grace_seconds
        down = any(item.ref == _CONTROLLER for item in workloads.issues(facts))
        text = f"profile {name} has no namespace."
        status = Status.WARN if young else Status.FAIL
        return Issue("E5", status, ref, "NoNamespace", text, "see the log of the profile controller.", ("C2",) * down)
    meta = namespace["metadata"]
    of = (meta.get("annotations") or {}).get("owner")
    if of != owner:
        who = f"belongs to {of}" if of else "has no annotation owner"
        text = f"namespace {name} {who}, its profile to {owner}: the dashboard shows it to no user."
        todo = "hand it over, or give the profile another name."
        return Issue("E5", Status.FAIL, ref, "OtherOwner", text, todo)
    if (meta.get("labels") or {}).get(_PART_OF[0]) != _PART_OF[1]:
        text = (
            f"namespace {name} lacks the label {'='.join(_PART_OF)}, by which webhooks know the namespace of a profile."
        )
        return Issue("E5", Status.WARN, ref, "NoLabel", text, "see the log of the profile controller, which sets it.")
    return None


@check("E8", "one-owner", severity=Severity.MAJOR, reads=(SIGN_IN, *_READ_PROFILES))
def one_owner(facts: Facts) -> Outcome:
    """The first user to sign in owns the first profile.

    The e-mail address of Dex's user and the owner of the profile must be the same, letter by letter; otherwise the
    dashboard shows the user no namespace. Owners who may sign in through a connector of Dex are not known here. Set
    kubeflow_user_email and install dex and user-namespace again.
    """
    sign_in, expected = _sign_in(facts), facts.expectations
    users = sign_in.emails
    profiles = {item["metadata"]["name"]: _owner(item) for item in judged(facts, PROFILES)}
    if not profiles and "user-namespace" not in expected.components:
        return skipped("NotExpected", "the chosen components have no first user's profile.")
    observed = {"users": list(users), "profiles": profiles}
    name = expected.user_namespace
    chosen = {name: profiles[name]} if name in profiles else {} if name else profiles
    owners = {owner for owner in chosen.values() if owner in users}
    wrong_user = expected.user_email and expected.user_email not in owners
    if owners and not wrong_user:
        text = f"{', '.join(sorted(owners))} signs in through Dex and owns profile {', '.join(sorted(chosen))}."
        return passed(text, objects=[Ref("kubeflow.org/v1", "Profile", "", item) for item in chosen])
    if sign_in.connectors and not _is_expected(chosen, users, expected):
        text = f"users may also sign in through {few(sign_in.connectors)}, and no profile is meant for Dex's own."
        return skipped("OtherConnectors", text, objects=(CONFIGURATION,))
    owned = ", ".join(f"{item} belongs to {owner or 'nobody'}" for item, owner in chosen.items())
    return failed(
        "TwoOwners" if chosen else "NoProfile",
        f"Dex knows {', '.join(users)}; "
        + (f"profile {owned}." if chosen else f"there is no profile {name}".strip() + "."),
        expected=f"{expected.user_email or 'one and the same user'} in Dex and as owner of the profile",
        observed=observed,
        objects=(CONFIGURATION, *(Ref("kubeflow.org/v1", "Profile", "", item) for item in chosen)),
        todo="set kubeflow_user_email to one address, and install dex and user-namespace again.",
    )


def _is_expected(found: Mapping[str, str], users: Sequence[str], expected: Expectations) -> bool:
    """Whether the inventory names one of these users, or an owner differs from one of them in letters only."""
    if expected.user_namespace and not found:
        return True
    if expected.user_email and expected.user_email not in found.values():
        return True
    return not {owner.casefold() for owner in found.values()}.isdisjoint(item.casefold() for item in users)
