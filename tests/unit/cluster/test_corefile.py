"""Under which domains CoreDNS answers for Services, by Corefiles as distributions and people write them."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.corefile import answers

KUBEADM = """
.:53 {
    errors
    kubernetes DOMAIN in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
    }
    forward . /etc/resolv.conf
}
"""
CORP = KUBEADM.replace("DOMAIN", "k8s.corp")
BY_BLOCK = "DOMAIN:53 {\n  kubernetes\n}\n.:53 {\n  forward . /etc/resolv.conf\n}\n"


def knows(text: str, domain: str = "cluster.local", *, whole: bool = True) -> bool | None:
    return answers([text], whole=whole).knows(domain)


@pytest.mark.parametrize(
    "text",
    [
        KUBEADM.replace("DOMAIN", "cluster.local"),
        KUBEADM.replace("DOMAIN", "Cluster.Local."),
        KUBEADM.replace("DOMAIN", "k8s.corp cluster.local"),
        BY_BLOCK.replace("DOMAIN", "cluster.local"),
        BY_BLOCK.replace("DOMAIN", "dns://cluster.local"),
        CORP + "cluster.local:53 {\n  forward . 10.0.0.10\n}\n",
        CORP + "local {\n  forward . 10.0.0.10\n}\n",
        CORP.replace("errors", "rewrite name suffix .cluster.local .k8s.corp answer auto"),
        CORP.replace("errors", "rewrite stop name suffix .local .corp"),
        CORP.replace("errors", r"rewrite name regex (.*)\.svc\.cluster\.local {1}.svc.k8s.corp"),
        CORP.replace("errors", "forward cluster.local 10.0.0.10"),
    ],
)
def test_a_zone_a_rewrite_or_somebody_who_is_asked_will_do(text: str) -> None:
    assert knows(text) is True


@pytest.mark.parametrize(
    "text",
    [
        CORP,
        BY_BLOCK.replace("DOMAIN", "k8s.corp"),
        KUBEADM.replace("DOMAIN", "prod.cluster.local"),
        CORP.replace("errors", "errors # cluster.local is what others have"),
        CORP.replace("errors", "rewrite name wiki.example.com wiki.docs.svc.k8s.corp"),
        CORP.replace("errors", "rewrite type ANY HINFO"),
        BY_BLOCK.replace("DOMAIN", "."),
    ],
)
def test_another_domain_alone_is_not_this_one(text: str) -> None:
    assert knows(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".:53 {\n  forward . 10.0.0.10\n}\n",
        KUBEADM.replace("DOMAIN", "{$CLUSTER_DOMAIN}"),
        KUBEADM.replace("DOMAIN", "__PILLAR__CLUSTER__DOMAIN__"),
        CORP.replace("errors", "rewrite name regex (.*)local {1}corp"),
        CORP.replace("errors", "rewrite {\n name suffix .a .b\n}"),
        CORP.replace("errors", "template IN A {\n answer x\n}"),
    ],
)
def test_what_a_file_does_not_say_is_not_guessed(text: str) -> None:
    assert knows(text) is None


def test_files_that_are_imported_from_elsewhere_are_not_guessed() -> None:
    importing = CORP.replace("errors", "import /etc/other/*.override")
    assert knows(importing, whole=False) is None
    assert knows(importing) is False
    assert answers([importing, "cluster.local:53 {\n forward . 10.0.0.10\n}"]).knows("cluster.local") is True
    assert knows(CORP, whole=False) is False


def test_the_zones_are_those_of_services_alone() -> None:
    text = KUBEADM.replace("DOMAIN", "k8s.corp 10.0.0.0/8") + "example.com {\n forward . 10.0.0.10\n}\n"
    assert answers([text]).zones == {"k8s.corp"}
