"""What web servers share: listening, hosts and origins."""

from __future__ import annotations

from socket import create_connection

from sidestep._util.web import bind, is_loopback, is_own_host, is_same_origin, local_address


def test_a_client_may_connect_before_the_server_is_up() -> None:
    with bind() as listening, create_connection(listening.getsockname(), timeout=5.0) as page:
        assert page.getpeername() == listening.getsockname()


def test_address_for_a_browser_on_this_machine() -> None:
    with bind() as listening:
        port = listening.getsockname()[1]
        assert local_address("0.0.0.0", listening) == f"http://127.0.0.1:{port}"
        assert local_address("::1", listening) == f"http://[::1]:{port}"
        assert local_address("robots.example", listening) == f"http://robots.example:{port}"


def test_hosts_and_origins() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "192.168.0.2", "example.org", "", "localhost.evil.org"))
    assert is_own_host("localhost:80", "127.0.0.1")
    assert not is_own_host("evil.org:80", "127.0.0.1")
    assert is_own_host("robots.example:80", "robots.example")
    assert not is_own_host("evil.org", "robots.example")
    assert is_own_host("anything.example:80", "0.0.0.0")
    assert is_same_origin("http://LOCALHOST:80", "localhost:80")
    assert not is_same_origin("http://localhost", "localhost:80")
    assert not is_same_origin("file://localhost:80", "localhost:80")
    assert not is_same_origin("http://[", "[")
