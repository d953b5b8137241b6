"""Who asks for much waits behind who asks for little."""

import asyncio

from fsbench_web.serving.fair_queue import Turns


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_senders_have_their_turns_one_after_the_other() -> None:
    begun: list[str] = []

    async def request(turns: Turns, sender: str, name: str) -> None:
        await turns.take(sender)
        begun.append(name)
        await _settled()
        turns.leave()
        turns.give()

    async def all_of_them() -> None:
        turns = Turns(1, 1)
        calls = [("loop", f"loop {number}") for number in range(6)]
        calls += [("ada", "ada 0"), ("ada", "ada 1"), ("jo", "jo 0")]
        await asyncio.gather(*(request(turns, *call) for call in calls))

    asyncio.run(all_of_them())
    assert begun[:6] == ["loop 0", "loop 1", "ada 0", "jo 0", "loop 2", "ada 1"]
    assert begun[6:] == ["loop 3", "loop 4", "loop 5"]


def test_a_turn_that_is_given_away_needs_a_free_thread() -> None:
    async def two_senders() -> None:
        turns = Turns(1, 2)
        await turns.take("a")
        turns.give()  # it takes long, and goes on
        await turns.take("a")
        turns.give()
        third = asyncio.create_task(turns.take("a"))
        await _settled()
        other = asyncio.create_task(turns.take("b"))
        await _settled()
        assert not third.done()
        assert not other.done()
        turns.leave()
        await third
        turns.give()
        turns.leave()
        await other

    asyncio.run(two_senders())


def test_who_goes_away_leaves_no_turn_behind() -> None:
    async def one_after_the_other() -> None:
        turns = Turns(1, 1)
        await turns.take("a")
        gone = [asyncio.create_task(turns.take(sender)) for sender in ("a", "b")]
        stays = asyncio.create_task(turns.take("b"))
        await _settled()
        for task in gone:
            task.cancel()
        await _settled()
        turns.leave()
        turns.give()
        await stays
        # Told that it is its turn at the very moment at which it goes away.
        late = asyncio.create_task(turns.take("a"))
        await _settled()
        turns.leave()
        turns.give()
        late.cancel()
        await asyncio.wait([late])
        await asyncio.wait_for(turns.take("c"), 20)

    asyncio.run(one_after_the_other())
