"""Which backend of webhooks is silent, by the dry runs that had no answer.

A dry run that takes too long says nothing of who kept it waiting: the API server calls all webhooks that intercept the
object, also those whose silence it ignores (apiserver, admission/plugin/webhook/{mutating,validating}/dispatcher.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.cluster.admission.webhooks import Webhook
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.reading.dry_runs import Answer

_LONGEST = 60.0
"""The API server itself gives up then (its --request-timeout)."""
_TIMEOUT = 10
"""timeoutSeconds of a webhook that says none (admissionregistration.k8s.io/v1)."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A dry run: the webhooks that intercept its object, and how it was answered."""

    hooks: tuple[Webhook, ...]
    answer: Answer

    @property
    def hung(self) -> bool:
        """Whether a webhook kept it waiting that the API server does not name."""
        return self.answer.kind == "silent" and not self.answer.by


@dataclass
class Silence:
    """Backends that are silent, and by dry run those of which one is, where it is unknown which."""

    backends: set[str] = field(default_factory=set)
    doubtful: dict[int, frozenset[str]] = field(default_factory=dict)

    def behind(self, number: int, tried: Tried) -> frozenset[str]:
        """The backends that kept that dry run waiting, or may have."""
        return self.doubtful.get(number, frozenset(map(backend_of, tried.hooks)) & self.backends)


def backend_of(hook: Webhook) -> str:
    """What a webhook calls: its Service or its URL."""
    return str(Ref("v1", "Service", *hook.service)) if hook.service else str(hook.text["clientConfig"].get("url", ""))


def seconds_of(hooks: Sequence[Webhook]) -> float:
    """The longest that the API server waits for all of them: one after the other those that mutate."""
    limits = [(hook.owner.kind.startswith("Mutating"), hook.text.get("timeoutSeconds") or _TIMEOUT) for hook in hooks]
    one_by_one = sum(limit for mutates, limit in limits if mutates)
    return min(_LONGEST, one_by_one + max((limit for mutates, limit in limits if not mutates), default=0))


def silence_in(tried: Sequence[Tried], seconds: float, again: Callable[[int, float], Answer]) -> Silence:
    """Who was silent in dry runs that had `seconds` each; `again` repeats one of them with more time.

    What answers another dry run is not it. With more time the API server names a webhook that it does not do without,
    and goes on without one whose silence it ignores.
    """
    silence = Silence({name for item in tried for name in _named(item)})
    heard = {name for item in tried for name in _answering(item, seconds)}
    hung = {number: frozenset(map(backend_of, item.hooks)) for number, item in enumerate(tried) if item.hung}
    for number in sorted(hung, key=lambda number: len(hung[number] - heard)):
        if hung[number] & silence.backends:
            continue
        left = hung[number] - heard
        if len(left) > 1:
            hooks = tried[number].hooks
            longer = Tried(hooks, again(number, seconds_of(hooks) + seconds))
            heard |= _answering(longer, _LONGEST)
            left = _named(longer) or left - heard
        if len(left) == 1:
            silence.backends |= left
        else:
            silence.doubtful[number] = left or hung[number]
    return silence


def _named(item: Tried) -> frozenset[str]:
    return frozenset(
        backend_of(hook) for hook in item.hooks if item.answer.kind == "silent" and hook.name == item.answer.by
    )


def _answering(item: Tried, seconds: float) -> frozenset[str]:
    """The backends that answered: the API server does not wait in vain for less than `seconds`."""

    def waited_for(hook: Webhook) -> bool:
        strict = hook.text.get("failurePolicy", "Fail") == "Fail" and not hook.text.get("matchConditions")
        return strict or (hook.text.get("timeoutSeconds") or _TIMEOUT) > seconds

    if item.answer.kind == "accepted":
        return frozenset(backend_of(hook) for hook in item.hooks if waited_for(hook))
    denied = item.answer.kind == "denied"
    return frozenset(backend_of(hook) for hook in item.hooks if denied and hook.name == item.answer.by)
