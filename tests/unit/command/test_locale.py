"""What is printed where the locale lacks characters: a report in what it has, and never another exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.programs

VALIDATORS = ("-m", "kubeflow_volcano.validators")
LATIN = {"PYTHONIOENCODING": "iso-8859-1"}
CHINESE = {"PYTHONIOENCODING": "gbk"}
BARE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"}
PRINTED = r"""
from kubeflow_volcano.validators.cli import commands
from kubeflow_volcano.progress import to_stderr
text = "\u2713 \u2500 \u4e2d \u00e9 \U0001f7e2 \ud800\n"
commands.parse = lambda *_, **__: type("Parsed", (), {"command": "list", "language": "zh"})
commands.manual.overview = lambda language: text + language
to_stderr()(text)
raise SystemExit(commands.main([]))
"""


def run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=os.environ | environment, capture_output=True, check=False
    )


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        pytest.param(LATIN, (*VALIDATORS, "list", "--language", "zh"), id="latin-list"),
        pytest.param(BARE, (*VALIDATORS, "explain", "A1", "--language", "zh"), id="bare-explain"),
        pytest.param(LATIN, ("-c", PRINTED), id="latin-printed"),
        pytest.param(CHINESE, ("-c", PRINTED), id="chinese-printed"),
        pytest.param(BARE, ("-c", PRINTED), id="bare-printed"),
    ],
)
def test_what_a_locale_lacks_is_replaced(environment: dict[str, str], words: tuple[str, ...]) -> None:
    done = run(environment, *words)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert done.stdout


def test_an_error_keeps_its_exit_code() -> None:
    done = run(BARE, *VALIDATORS, "explain", "\u4e2d\u2713")
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False)


@pytest.mark.parametrize("environment", [CHINESE, BARE], ids=["chinese", "bare"])
def test_what_programs_read_is_utf_8(environment: dict[str, str], tmp_path: Path) -> None:
    manifest = tmp_path / "job.yaml"
    about = "\u4e2d \u2713 \u00e9"
    manifest.write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, annotations: {{about: {about}}}}}\n", "utf-8"
    )
    words = (*VALIDATORS, "explain", "manifest", str(manifest), "--offline")
    assert about in run(environment, *words, "--fix").stdout.decode("utf-8")
    json.loads(run(environment, *words, "--json").stdout.decode("utf-8"))
