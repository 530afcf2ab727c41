"""What stands in the way is told before the first change, all of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import preflight as room
from kubeflow_volcano.rollout.preflight import preflight
from kubeflow_volcano.rollout.settings.settings import parse
from tests.unit.rollout.queues.queue_stand import Store, queue


def test_every_reason_is_told_at_once_and_nothing_is_changed(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    api.on("GET", "/version", api.reply(body={"gitVersion": "v1.20.0"}))
    settings = parse(
        {
            "kubeflow_release": "1.9.1",
            "kubeflow_source": "/absent",
            "volcano_source": "/missing",
            "local_path_storage_mode": "existing",
        }
    )
    with pytest.raises(InvalidInput) as caught:
        preflight(api.connect(), settings, lambda _: None)
    text = str(caught.value)
    for words in ("1.20", "no /absent", "kubeflow_source", "no /missing", "volcano_source"):
        assert words in text
    assert {request.method for request in api.requests} == {"GET"}


def test_a_queue_that_may_not_go_is_told_before_another_component_is_rolled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store: Any = Store()
    store.version = {"gitVersion": "v1.30.2"}
    store.put(queue("a"))
    found = SimpleNamespace(parts={"volcano": ()}, notes=(), images=SimpleNamespace(warnings=()))
    monkeypatch.setattr(room, "desired", lambda *_: found)
    for name in ("strange_owners", "refused_namespaces"):
        monkeypatch.setattr(room, name, lambda *_: [])
    asked = {"volcano_queues": [{"name": "a", "state": "absent"}]}
    with pytest.raises(InvalidInput, match="does not say that a roll-out made it"):
        preflight(store, parse(asked), silent)
    store.made_here("a")
    assert preflight(store, parse(asked), silent) == 0
