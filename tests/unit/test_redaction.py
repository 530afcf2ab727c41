"""What is hidden and what stays readable, by one corpus of examples, wherever texts or data leave the machine."""

from __future__ import annotations

import itertools
import json
import random
import time
from typing import Any

import pytest
import yaml

from kubeflow_volcano.redaction import is_secret_name, redacted, without_secrets, without_variables
from tests.places import ROOT
from tests.recorded.recording import CLUSTERS, clusters

CORPUS = yaml.safe_load((ROOT / "tests/samples/redaction.yaml").read_text("utf-8"))
PLANTED = "PLANTED"
VALUES = ("hunter", "Hunter2-hunter2", "q7Xz.w/4+p=", "12345678", "correct")


def planted(item: Any, value: str) -> Any:
    return yaml.safe_load(json.dumps(item).replace(PLANTED, value))


def test_a_credential_goes_from_a_text() -> None:
    for text, value in itertools.product(CORPUS["texts_hidden"], VALUES):
        shown = redacted(text.replace(PLANTED, value))
        assert value not in shown, text
        assert redacted(shown) == shown


def test_a_credential_goes_by_its_form_alone() -> None:
    shown = {text: redacted(f"found {text} there") for text in CORPUS["forms_hidden"]}
    assert [text for text, instead in shown.items() if "q7xz" in instead.lower()] == []


def test_what_is_no_credential_stays_in_a_text() -> None:
    texts = CORPUS["texts_readable"]
    assert [redacted(text) for text in texts] == texts


def test_a_credential_goes_wherever_it_stands_in_a_text() -> None:
    for text in CORPUS["texts_hidden"]:
        around = random.Random(text)  # noqa: S311  the same lines in each run
        for _ in range(20):
            lines = [around.choice(CORPUS["texts_readable"]) for _ in range(6)]
            lines.insert(around.randrange(7), text)
            assert PLANTED not in redacted("\n".join(lines)), text


def test_a_credential_goes_from_data() -> None:
    for item, value in itertools.product(CORPUS["data_hidden"], VALUES):
        shown = without_secrets(planted(item, value))
        assert value not in json.dumps(shown), item
        assert without_secrets(shown) == shown


def test_what_is_no_credential_stays_in_data() -> None:
    items = CORPUS["data_readable"]
    assert [without_secrets(item) for item in items] == items


@pytest.mark.parametrize("name", clusters())
def test_everything_of_recorded_clusters_stays(name: str) -> None:
    recorded = yaml.load((CLUSTERS / name / "facts.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    assert without_secrets(recorded) == recorded


def test_the_names_of_credentials_are_known_in_every_spelling() -> None:
    hidden = "password DB_PASSWORD bindPW secretKey accountkey api-key client_secret rootpw tls.pwd adminPass"
    plain = "passwordFile secretName compass bypass monkey author keys key tokenPath serviceAccountName max_len"
    assert [name for name in hidden.split() if not is_secret_name(name)] == []
    assert [name for name in plain.split() if is_secret_name(name)] == []


PIECES = """x|a-|-----BEGIN |eyJ|a://|a:b@| -u a| --a-|password |token=|"auth":"|bearer |password: |password: [
password: "|password:_- |password: \\|_ | - |_|\\|\\"|"|mysql -|login -p |name: a|value: |"name":"a","value":"
Name:a Value:|Name:a Value:b ValueFrom:|authorization: |cookie: |auth: A|get token: |/token:|-passin pass:|;pwd="""


@pytest.mark.parametrize("hide", [redacted, without_variables])
def test_a_text_without_end_takes_time_in_proportion_to_its_length(hide: Any) -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        hide(text)
        return time.process_time() - started

    for piece in (*PIECES.replace("\n", "|").split("|"), *CORPUS["texts_hidden"]):
        piece = piece.replace("_", "\n")  # noqa: PLW2901  as it is meant
        short = piece * (2_000 // len(piece))
        long = seconds(short * 8)
        # The square of the length would be 64 times as long; what is measured is short, and others use the machine.
        assert long < 0.25 or long < 25 * min(seconds(short) for _ in range(3)), piece
