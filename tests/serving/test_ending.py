"""When the web is told to end, whoever comes is refused at once, and not taken in vain."""

import socket
from collections.abc import Iterator

import pytest

from fsbench_web.serving.supervisor import GivenSocket, Supervisor, open_socket


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with open_socket("127.0.0.1", 0) as opened:
        yield opened


def end(listening: socket.socket) -> None:
    under = Supervisor(listening, processes=1, with_worker=False, echo=print)
    under.webs = under.children = []
    under._end_children()


def test_a_port_of_our_own_is_closed_before_the_processes_end(listening: socket.socket) -> None:
    """A proxy that tries again bridges a refusal; what was taken and dropped is a 502."""
    assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    end(listening)
    assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0


def test_what_was_taken_before_is_kept(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()) as visitor:
        connection, _ = listening.accept()
        with connection:
            end(listening)
            visitor.sendall(b"GET /")
            assert connection.recv(100) == b"GET /"
            connection.sendall(b"answer")
            assert visitor.recv(100) == b"answer"


def test_a_port_of_the_service_manager_stays_open(listening: socket.socket) -> None:
    """There whoever comes waits for the next start."""
    address = listening.getsockname()
    with GivenSocket(fileno=listening.detach()) as inherited:
        end(inherited)
        with socket.create_connection(address) as visitor, inherited.accept()[0] as connection:
            connection.sendall(b"later")
            assert visitor.recv(100) == b"later"
