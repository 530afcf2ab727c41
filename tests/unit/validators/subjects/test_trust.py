"""Which serving certificates are trusted, on certificates of many shapes; Go, where it is installed, agrees."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from kubeflow_volcano.validators.subjects.trust import distrust, parsed
from tests.samples.certificates import CA, CLIENTS, SERVERS, Signer, named, pem, signer, with_serial, with_sha1

HOST = "hook.mine.svc"
NOW = datetime(2026, 11, 25, tzinfo=UTC)
TRUSTED = ""
ROOT = signer("root", CA, now=NOW)
NO_SIGNING = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=True,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4.5"), b"\x05\x00")
RSA_2048 = rsa.generate_private_key(65537, 2048)
RSA_1024 = rsa.generate_private_key(65537, 1024)  # noqa: S505  as old operators made them


class Case(NamedTuple):
    """What a backend serves, what the caBundle has, the expected reason, and whether Go accepts it."""

    title: str
    served: Sequence[Signer]
    bundle: Sequence[Signer]
    reason: str
    go: bool


def leaf(by: Signer, *extensions: x509.ExtensionType, **rest: object) -> Signer:
    return by.signs("leaf", *(extensions or (named(HOST),)), now=NOW, **rest)


def cases() -> list[Case]:
    middle = ROOT.signs("middle", CA, now=NOW)
    lower = middle.signs("lower", CA, now=NOW)
    itself = signer("itself", named(HOST), now=NOW)
    nameless = signer("", named(HOST), now=NOW)
    strange = signer("", named(HOST), UNKNOWN, now=NOW, critical=True)
    unnamed = signer("", CA, now=NOW, key=RSA_2048)
    bare, no_ca = signer("bare", now=NOW), signer("no", x509.BasicConstraints(ca=False, path_length=None), now=NOW)
    old_middle = ROOT.signs("old middle", CA, now=NOW, days=-1)
    old_root = signer("old", CA, now=NOW, days=-1)
    crossed = Signer(ROOT.signs("old", CA, now=NOW, key=old_root.key).certificate, old_root.key)
    short = signer("short", x509.BasicConstraints(ca=True, path_length=0), now=NOW)
    below_short = short.signs("below", CA, now=NOW)
    clients = signer("clients", CA, CLIENTS, now=NOW)
    no_signing = signer("no signing", CA, NO_SIGNING, now=NOW)
    narrow = signer("narrow", CA, x509.NameConstraints([x509.DNSName("other.svc")], None), now=NOW)
    wide = signer("wide", CA, x509.NameConstraints([x509.DNSName("mine.svc")], None), now=NOW)
    zero, negative = with_serial(ROOT, 0, ROOT), with_serial(ROOT, -5, ROOT)
    edwards = signer("edwards", CA, now=NOW, key=ed25519.Ed25519PrivateKey.generate())
    weak = signer("weak", CA, now=NOW, key=RSA_1024)
    p224 = signer("p224", CA, now=NOW, key=ec.generate_private_key(ec.SECP224R1()))
    twin = signer("root", CA, now=NOW)
    rivest = signer("root", CA, now=NOW, key=RSA_2048)
    leaf_no_ca = x509.BasicConstraints(ca=False, path_length=None)
    return [
        Case("a CA and a leaf without other extensions", [leaf(ROOT)], [ROOT], TRUSTED, go=True),
        Case("as Volcano makes them", [leaf(ROOT, leaf_no_ca, SERVERS, named(HOST))], [ROOT], TRUSTED, go=True),
        Case("an intermediate that is served", [leaf(middle), middle], [ROOT], TRUSTED, go=True),
        Case("two intermediates in any order", [leaf(lower), middle, lower], [ROOT], TRUSTED, go=True),
        Case("the root is served as well", [leaf(middle), middle, ROOT], [ROOT], TRUSTED, go=True),
        Case("an intermediate that nothing serves", [leaf(middle)], [ROOT], "UnknownAuthority", go=False),
        Case("an intermediate in the caBundle", [leaf(middle)], [middle], TRUSTED, go=True),
        Case("several authorities", [leaf(ROOT)], [twin, old_root, ROOT], TRUSTED, go=True),
        Case("the new one of a cross-signed pair", [leaf(old_root), crossed], [old_root, ROOT], TRUSTED, go=True),
        Case("the leaf itself is the caBundle", [itself], [itself], TRUSTED, go=True),
        Case("and it has no name", [nameless], [nameless], TRUSTED, go=True),
        Case("without a name, and beyond us", [strange], [strange], "NotVerified", go=False),
        Case("SHA-1 of one without a name", [with_sha1(leaf(unnamed), unnamed)], [unnamed], "NotVerified", go=False),
        Case("a leaf without a name", [ROOT.signs("", named(HOST), now=NOW)], [ROOT], TRUSTED, go=True),
        Case("serial number 0, as of cert-controller", [leaf(zero)], [zero], TRUSTED, go=True),
        Case("a leaf with serial number 0", [with_serial(leaf(ROOT), 0, ROOT)], [ROOT], TRUSTED, go=True),
        Case("a negative serial number", [leaf(negative)], [negative], "NotVerified", go=False),
        Case("a leaf with one", [with_serial(leaf(ROOT), -5, ROOT)], [ROOT], "NotVerified", go=False),
        Case("Ed25519", [leaf(edwards)], [edwards], "NotVerified", go=True),
        Case("RSA with 1024 bits", [leaf(weak)], [weak], "NotVerified", go=True),
        Case("P-224", [leaf(p224)], [p224], "NotVerified", go=True),
        Case("RSA", [leaf(rivest)], [rivest], TRUSTED, go=True),
        Case("SHA-1, which Go took before 1.18", [with_sha1(leaf(rivest), rivest)], [rivest], "NotVerified", go=False),
        Case("and no authority for it", [with_sha1(leaf(rivest), rivest)], [weak], "UnknownAuthority", go=False),
        Case("one of another kind of key", [leaf(rivest)], [ROOT], "UnknownAuthority", go=False),
        Case("and the other way", [leaf(ROOT)], [rivest], "UnknownAuthority", go=False),
        Case("another authority of the same name", [leaf(ROOT)], [twin], "UnknownAuthority", go=False),
        Case("a wildcard", [leaf(ROOT, named("*.mine.svc"))], [ROOT], TRUSTED, go=True),
        Case("a wildcard for two labels", [leaf(ROOT, named("*.svc"))], [ROOT], "WrongName", go=False),
        Case("a wildcard for a part", [leaf(ROOT, named("h*.mine.svc"))], [ROOT], "WrongName", go=False),
        Case("a wildcard inside", [leaf(ROOT, named("hook.*.svc"))], [ROOT], "WrongName", go=False),
        Case("capital letters", [leaf(ROOT, named("Hook.Mine.svc"))], [ROOT], TRUSTED, go=True),
        Case("a longer name", [leaf(ROOT, named(f"{HOST}.cluster.local"))], [ROOT], "WrongName", go=False),
        Case("one of several names", [leaf(ROOT, named("hook", "hook.mine", HOST))], [ROOT], TRUSTED, go=True),
        Case("a common name only", [ROOT.signs(HOST, now=NOW)], [ROOT], "WrongName", go=False),
        Case("expired", [leaf(ROOT, days=-1)], [ROOT], "CertificateExpired", go=False),
        Case("not valid yet", [leaf(ROOT, begins=1)], [ROOT], "NotValidYet", go=False),
        Case("an expired intermediate", [leaf(old_middle), old_middle], [ROOT], "NotAuthorized", go=False),
        Case("an expired root", [leaf(old_root)], [old_root, ROOT], "NotAuthorized", go=False),
        Case("a CA without basic constraints", [leaf(bare)], [bare], "NotAuthorized", go=False),
        Case("what signs is no CA", [leaf(no_ca)], [no_ca], "NotAuthorized", go=False),
        Case("too long a chain", [leaf(below_short), below_short], [short], "NotAuthorized", go=False),
        Case("a chain of the length allowed", [leaf(short)], [short], TRUSTED, go=True),
        Case("for clients only", [leaf(ROOT, named(HOST), CLIENTS)], [ROOT], "NotAuthorized", go=False),
        Case("an issuer for clients only", [leaf(clients)], [clients], "NotAuthorized", go=False),
        Case("for servers", [leaf(ROOT, named(HOST), SERVERS)], [ROOT], TRUSTED, go=True),
        Case("a key that may not sign", [leaf(no_signing)], [no_signing], "NotAuthorized", go=False),
        Case("a CA for other names", [leaf(narrow)], [narrow], "NotAuthorized", go=False),
        Case("a CA for these names", [leaf(wide)], [wide], TRUSTED, go=True),
        Case("an unknown extension", [leaf(ROOT, named(HOST), UNKNOWN)], [ROOT], TRUSTED, go=True),
        Case(
            "one that must be understood",
            [leaf(ROOT, named(HOST), UNKNOWN, critical=True)],
            [ROOT],
            "NotVerified",
            go=False,
        ),
    ]


CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_what_is_served_is_trusted_as_go_trusts_it(case: Case) -> None:
    served, bundle = ([item.certificate for item in items] for items in (case.served, case.bundle))
    found = distrust(served, bundle, HOST, NOW)
    assert (found.reason if found else TRUSTED) == case.reason, found
    if found and found.certain:
        assert not case.go, "it may be called refused only where Go refuses it"
    if not found:
        assert case.go, "it may be called trusted only where Go trusts it"


GO = """
package main

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"time"
)

type question struct{ Served, Bundle, Host, Now string }

func verified(q question) string {
	roots, others := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(q.Bundle)) {
		return "no root"
	}
	var leaf *x509.Certificate
	for rest := []byte(q.Served); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		found, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err.Error()
		}
		if leaf == nil {
			leaf = found
		} else {
			others.AddCert(found)
		}
	}
	at, _ := time.Parse(time.RFC3339, q.Now)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, DNSName: q.Host, CurrentTime: at})
	if err != nil {
		return err.Error()
	}
	return ""
}

func main() {
	var all []question
	json.NewDecoder(os.Stdin).Decode(&all)
	answers := []string{}
	for _, q := range all {
		answers = append(answers, verified(q))
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
"""


@pytest.mark.programs
@pytest.mark.skipif(shutil.which("go") is None, reason="needs a Go compiler")
def test_go_says_the_same_of_every_shape(tmp_path: Path) -> None:
    """As a TLS client of Go does it: crypto/tls, handshake_client.go, verifyServerCertificate."""
    (tmp_path / "main.go").write_text(GO)
    questions = [
        {
            "Served": pem(*(item.certificate for item in case.served)).decode(),
            "Bundle": pem(*(item.certificate for item in case.bundle)).decode(),
            "Host": HOST,
            "Now": NOW.isoformat(),
        }
        for case in CASES
    ]
    command = ["go", "run", "main.go"]
    ended = subprocess.run(
        command, cwd=tmp_path, input=json.dumps(questions), capture_output=True, text=True, check=True
    )
    answers = json.loads(ended.stdout)
    wrong = {
        case.title: answer or "trusted" for case, answer in zip(CASES, answers, strict=True) if case.go == bool(answer)
    }
    assert wrong == {}


def test_what_cannot_be_read_is_left_out_of_a_bundle_as_go_does() -> None:
    damaged = pem(ROOT.certificate).replace(b"MII", b"AAA")
    assert parsed(damaged + pem(ROOT.certificate)) == [ROOT.certificate]
    with pytest.raises(ValueError, match=r"\w"):
        parsed(damaged)
    with pytest.raises(ValueError, match="no certificate"):
        parsed(b"text")
