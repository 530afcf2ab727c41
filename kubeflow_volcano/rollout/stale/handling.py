"""What one roll-out does about stale objects: webhooks that stop others go first, the rest when asked, all is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.removing.removal import Removal, Rules
from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.applied_objects import GUARDED_KINDS, Place, lasting_objects
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.existing.owners import places_of_existing
from kubeflow_volcano.rollout.prepare import Prepared
from kubeflow_volcano.rollout.running import ACTING, running_jobs
from kubeflow_volcano.rollout.settings.queue_states import wanted_states
from kubeflow_volcano.rollout.settings.validation.schedule import PART
from kubeflow_volcano.rollout.stale.finalizers import explain_terminating
from kubeflow_volcano.rollout.stale.find import Stale, find_stale, unserved_webhooks
from kubeflow_volcano.rollout.stale.in_use import InUse, find_in_use
from kubeflow_volcano.rollout.state.inventory import Applied, merged, read_inventory, write_inventory
from kubeflow_volcano.text import counted, few

_DEFAULT = "default"
"""The namespace of a namespaced object whose manifest names none."""
_MOST_SHOWN = 12


class StaleObjects:
    """The stale objects of one run; each step adds its outcomes, problems and warnings to the engine's."""

    def __init__(self, engine: Engine, prepared: Prepared) -> None:
        """Look for them.

        Raises:
            ApiError: the inventory cannot be read, or the API server does not answer which kinds it serves.
        """
        settings, scope = prepared.settings, prepared.scope
        self._engine = engine
        self._prune = settings.prune
        self._named = frozenset(settings.prune_named)
        self._namespaced: dict[tuple[str, str], bool | None] = {}
        declared = [*prepared.desired.parts.values(), *engine.parts.values()]
        self._declared = {Place.of(self._live(ref)) for objects in declared for ref in lasting_objects(objects)}
        # One with state: absent is declared, too: it is drained before it is deleted.
        self._declared |= {
            Place(VOLCANO.group, "Queue", "", name) for name in wanted_states(settings.scheduling.queues)
        }
        self._inventory = read_inventory(engine.cluster)
        self._chosen = {part.name for part in settings.components}
        self._versions = {part.name: settings.version_of(part) for part in scope.parts}
        self._components = (*settings.components, *settings.release.components.values())
        self._wired = {part.name for part in scope.wired}
        self._versions[PART] = settings.release.version
        whole = {part.name for part in scope.components} | ({PART} if prepared.whole else set())
        survey = find_stale(
            engine.cluster,
            self._inventory,
            self._declared,
            chosen=self._chosen | {PART} | whole | self._wired,
            whole=whole,
            existing=settings.existing,
            of_existing=places_of_existing(settings),
            deadline=engine.deadline,
        )
        self._gone = set(survey.gone)
        self._left = list(survey.stale)
        self._refused: set[Ref] = set()
        for plural, why in survey.unread.items():
            engine.progress(f"note: stale {plural} could not be looked for: {why}")

    def remove_unserved_webhooks(self) -> None:
        """Remove the webhook configurations that the new version no longer serves, before it is sent."""
        self._remove([*unserved_webhooks(self._engine.cluster, self._left, self._declared)])

    def prune(self) -> None:
        """Remove the stale objects if `kubeflow_prune` is true, the guarded ones only if they are named and empty.

        What came beside components is this project's alone, and is removed once no variable declares it. Namespaces go
        last, when what was to go from them is gone.
        """
        self._drop_removed()
        chosen = [item for item in self._left if item.component == PART or (self._prune and self._may_go(item))]
        working = self._working(chosen)
        chosen = [item for item in chosen if item.component not in working]
        unused = self._unused(chosen, chosen)
        spaces = [item for item in unused if item.ref.kind == "Namespace"]
        self._remove([item for item in unused if item not in spaces])
        self._remove(spaces if self._engine.check else self._unused(spaces, spaces))

    def warn(self) -> None:
        """Add a warning that names what is left."""
        self._drop_removed()
        guarded = [item for item in self._left if item.ref.kind in GUARDED_KINDS and item.ref not in self._refused]
        others = [item for item in self._left if item.ref.kind not in GUARDED_KINDS]
        if others and not self._prune:
            self._engine.add_warning(_undeclared(others))
        try:
            used = self._in_use(guarded, self._left)
        except ApiError as error:
            self._engine.progress(f"note: {few([str(item.ref) for item in guarded], 3)}: contents unknown: {error}")
            return
        if free := [item for item in guarded if item.ref not in used]:
            self._engine.add_warning(_guarded(free))
        if used:
            self._engine.add_warning(_holding(used))

    def record(self) -> None:
        """Record what the run declares and what of it is on the cluster, and what earlier runs brought.

        Raises:
            ApiError: the inventory cannot be written.
        """
        uids = {item.ref: item.uid for item in self._engine.result().outcomes if item.uid}
        applied = {
            name: Applied(
                self._versions[name],
                {self._live(ref): uids[ref] for ref in lasting_objects(objects) if ref in uids},
                name in self._wired,
            )
            for name, objects in self._engine.parts.items()
        }
        write_inventory(self._engine.cluster, merged(self._inventory, applied, self._declared, self._gone))

    def _drop_removed(self) -> None:
        """Forget what other steps of the run removed, such as companions of a Deployment with one replica."""
        removed = {item.ref for item in self._engine.result().outcomes if item.action is Action.REMOVED}
        self._gone |= {Place.of(ref) for ref in removed}
        self._left = [item for item in self._left if item.ref not in removed]

    def _live(self, ref: Ref) -> Ref:
        """`ref` with the namespace that the live object has: manifests give one to cluster-scoped objects, too."""
        key = ref.api_version, ref.kind
        if key not in self._namespaced:
            try:
                self._namespaced[key] = self._engine.cluster.resource(*key).namespaced
            except NotServed:
                self._namespaced[key] = None
        namespaced = self._namespaced[key]
        if namespaced is None:
            return ref
        return ref._replace(namespace=(ref.namespace or _DEFAULT) if namespaced else "")

    def _may_go(self, item: Stale) -> bool:
        return item.ref.kind not in GUARDED_KINDS or str(item.ref) in self._named

    def _working(self, going: Collection[Stale]) -> Collection[str]:
        """Operators and gang schedulers of `going` that left the inventory while jobs run: a problem, they stay."""
        leaving = {item.component for item in going if item.ref.kind == "Deployment"} & (ACTING - self._chosen)
        jobs = running_jobs(self._engine.cluster) if leaving else ()
        if not jobs:
            return ()
        names = few(sorted(leaving))
        self._engine.add_problem(
            Problem(
                f"{names} is not removed: jobs run: {few(list(map(str, jobs)), _MOST_SHOWN)}.",
                "no running job while its operator or scheduler goes: pending pods would stay so, and no pod would be "
                "restarted or cleaned up.",
                "wait until they have ended, delete or suspend them, and run again; or remove the component all the "
                f"same with uninstall.yml: uninstall_components: [{names}], uninstall_running_jobs: allow.",
            )
        )
        return leaving

    def _unused(self, items: Collection[Stale], going: Collection[Stale]) -> list[Stale]:
        """Those of `items` in which nothing stays when `going` are gone; the others are problems: they were named."""
        used = self._in_use(items, going)
        self._refused |= used.keys()
        for ref, why in used.items():
            self._engine.add_problem(
                Problem(
                    f"{ref} is not removed: {why.why}.",
                    "an object in which nothing is left; what is in it would be deleted with it.",
                    f"keep it, and remove it from kubeflow_prune_named; or {why.todo}, and run again.",
                )
            )
        return [item for item in items if item.ref not in used]

    def _in_use(self, items: Collection[Stale], going: Collection[Stale]) -> Mapping[Ref, InUse]:
        if not any(item.ref.kind in GUARDED_KINDS for item in items):
            return {}
        engine = self._engine
        declared = [obj for objects in engine.parts.values() for obj in objects]
        refs = {item.ref for item in items}
        in_use = find_in_use(engine.cluster, going, declared, engine.deadline)
        return {ref: why for ref, why in in_use.items() if ref in refs}

    def _remove(self, items: Collection[Stale]) -> None:
        engine = self._engine
        if not items:
            return
        rules = Rules(explain=lambda live: explain_terminating(engine.cluster, live, self._components))
        removal = Removal(engine.cluster, engine.deadline, engine.progress, rules, check=engine.check)
        removal.run({item.ref: item.live for item in items})
        component = {item.ref: item.component for item in items}
        for outcome in removal.outcomes:
            engine.add_outcome(outcome.for_component(component[outcome.ref]))
        for problem in removal.problems:
            engine.add_problem(problem)
        for problem in removal.kept.values():
            engine.add_warning(problem)
        self._drop_removed()


def _undeclared(items: Sequence[Stale]) -> Problem:
    kinds = Counter(item.ref.kind for item in items)
    numbers = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items(), key=lambda pair: (-pair[1], pair)))
    return Problem(
        f"{counted(len(items), 'object')} that earlier roll-outs brought, and this inventory does not declare: "
        f"{numbers}. {_by_origin(items)}",
        "a cluster that has what the inventory declares.",
        """review them with --check --diff -e '{"kubeflow_prune": true}'; without --check the same removes them.""",
    )


def _guarded(items: Sequence[Stale]) -> Problem:
    names = [str(item.ref) for item in items]
    listed = ", ".join(f'"{name}"' for name in names)
    return Problem(
        f"{counted(len(items), 'object')} that nothing declares any more and that may hold people's work: "
        f"{few(names, _MOST_SHOWN)}.",
        "your decision: such objects are removed only when they are named.",
        f"save what is needed; then kubeflow_prune: true with kubeflow_prune_named: [{listed}].",
    )


def _holding(used: Mapping[Ref, InUse]) -> Problem:
    names = [f"{ref}: {why.why}" for ref, why in used.items()]
    first = next(iter(used.values()))
    return Problem(
        f"{counted(len(used), 'object')} that nothing declares any more, but that others use: "
        f"{few(names, _MOST_SHOWN, '; ')}.",
        "nothing: such an object stays as long as something is in it.",
        f"if it is not needed, {first.todo}; the next run says how the rest goes.",
    )


def _by_origin(items: Sequence[Stale]) -> str:
    """Where they come from, by component and version."""
    origins = Counter(" ".join(filter(None, (item.component, item.version))) or "an unrecorded run" for item in items)
    return f"They come from {few([f'{origin} ({number})' for origin, number in origins.most_common()], _MOST_SHOWN)}."
