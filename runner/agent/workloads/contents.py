"""What fsbench's own programs write: one buffer, or data that compress as requested.

``--compress-percent``, ``--dedupe-percent`` and ``--new-data`` do what fio's
buffer_compress_percentage, dedupe_percentage and refill_buffers do. Blocks are numbered pieces of a
megabyte of random bytes. Standard library only.
"""

import argparse
import os
import random

BLOCK = 4096
CHUNK = 512
POOL_BLOCKS = 256
NUMBER = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--compress-percent", type=int, default=0)
    parser.add_argument("--dedupe-percent", type=int, default=0)
    parser.add_argument("--new-data", action="store_true")


def compressible(size: int, percent: int) -> bytes:
    """Random bytes; of each 512 the last ``percent`` are zeros."""
    random_size = CHUNK - CHUNK * percent // 100
    data = bytearray(os.urandom(size))
    for start in range(0, size, CHUNK):
        end = min(start + CHUNK, size)
        data[start + random_size : end] = bytes(max(0, end - start - random_size))
    return bytes(data)


class Contents:
    """``piece(size)`` is what is written next. Nothing asked: the first bytes of ``same``."""

    def __init__(self, options: argparse.Namespace, same: bytes, seed: str = "") -> None:
        self.is_new = bool(options.compress_percent or options.dedupe_percent or options.new_data)
        self.same = same
        self.dedupe_percent = options.dedupe_percent
        self.number = 0
        if self.is_new:
            self.generator = random.Random(f"{seed} contents")  # noqa: S311 (no secret)
            pool = compressible(POOL_BLOCKS * BLOCK, options.compress_percent)
            self.blocks = [pool[start : start + BLOCK] for start in range(0, len(pool), BLOCK)]

    def piece(self, size: int) -> bytes:
        """``size`` bytes; of ``same`` at most as many as it has."""
        if not self.is_new:
            return self.same[:size]
        if size <= BLOCK:
            return self._block()[:size]
        return b"".join(self._block() for _ in range(-(-size // BLOCK)))[:size]

    def _block(self) -> bytes:
        if self.dedupe_percent and self.generator.random() * 100 < self.dedupe_percent:
            return self.blocks[0]
        self.number += 1
        block = self.blocks[self.number % POOL_BLOCKS]
        return self.number.to_bytes(NUMBER, "little") + block[NUMBER:]
