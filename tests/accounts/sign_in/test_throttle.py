from concurrent.futures import ThreadPoolExecutor

from django.db import connection

from fsbench_web.accounts.sign_in import throttle


def admitted(_: int) -> bool:
    try:
        return throttle.admit("alice", "192.0.2.1")
    finally:
        connection.close()


def test_many_at_once_do_not_slip_through(transactional_db: None) -> None:
    with ThreadPoolExecutor(max_workers=8) as threads:
        answers = list(threads.map(admitted, range(4 * throttle.LIMIT)))
    # Those that meet may refuse each other; more than the limit may never pass.
    assert 0 < sum(answers) <= throttle.LIMIT
