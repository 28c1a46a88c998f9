"""Names and addresses of callers, as rights, bounds and logs take them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.api.callers import cleaned, described, host_of, names_of

KNOWN = {
    "x509_common_name": [b"alice"],
    "x509_subject_alternative_name": [b"alice.test", b"spiffe://bob", b"10.0.0.1", b"bob@x"],
    "peer_dns": [b"alice.test"],
    "peer_uri": [b"spiffe://bob"],
    "peer_email": [b"bob@x"],
    "peer_ip": [b"10.0.0.1"],
}


def test_rights_go_by_the_common_name_and_dns_names_alone() -> None:
    assert names_of(KNOWN) == ("alice", "alice.test")
    assert names_of({}) == names_of(None) == ()


def test_names_of_other_kinds_are_shown_with_their_kind() -> None:
    assert described(KNOWN, "ipv4:127.0.0.1:5") == (
        "alice alice.test uri=spiffe://bob email=bob@x ip=10.0.0.1 ipv4:127.0.0.1:5"
    )


@given(st.lists(st.binary(max_size=300), max_size=30), st.text(max_size=300))
def test_no_name_breaks_out_of_its_word_or_fills_the_line(names: list[bytes], peer: str) -> None:
    line = described({"x509_common_name": names[:1], "peer_dns": names[1:]}, peer)

    assert line.isprintable()
    assert line.count(" ") <= 9
    assert len(line) <= 10 * 1000 * 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("alice ipv4:10.0.0.1:5", "alice\\x20ipv4:10.0.0.1:5"),
        ("a\nb\r\x1b[31m\x85", "a\\nb\\r\\x1b[31m\\x85"),
        ("\u202e\u2028\u00a0", "\\u202e\\u2028\\xa0"),
        ("back\\x20slash", "back\\\\x20slash"),
        ("Jürgen", "Jürgen"),
        ("x" * 201, "x" * 200 + "..."),
    ],
)
def test_text_of_callers_is_one_printable_word(text: str, shown: str) -> None:
    assert cleaned(text) == shown


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:10.1.2.3:4567", "10.1.2.3"),
        ("ipv6:[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64"),
        ("ipv6:%5B2001:db8:1:2::9%5D:80", "2001:db8:1:2::/64"),
        ("ipv6:[::1]:80", "::/64"),
        ("ipv6:[::ffff:10.1.2.3]:80", "10.1.2.3"),
        ("ipv6:[fe80::1%25eth0]:80", "fe80::/64"),
        ("unix:/tmp/socket", ""),
        ("ipv4:what", ""),
        ("", ""),
    ],
)
def test_bounds_count_by_address_and_by_the_network_of_an_ipv6_one(peer: str, host: str) -> None:
    assert host_of(peer) == host
