"""The fields of many lines at once: where they are, and what the plain ones say. Pure.

NumPy over the bytes of some ten thousand lines, a few operations for all of them. What is not
plain is said to be so, and left to whoever reads row by row.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEWLINE, _QUOTE, _BLANK, _HASH, _ZERO = (ord(sign) for sign in '\n" #0')
_WORD_BYTES = 8
_LONGEST_KEY = 256
_LONGEST_NUMBER = 16
# Whole numbers below 10**15 and powers of ten up to 10**22 are floats without rounding, so that
# their quotient is rounded once, as float(text) is (W. D. Clinger, How to read floating point
# numbers accurately, PLDI 1990).
_EXACT_DIGITS = 15
_POWERS = 10.0 ** np.arange(_LONGEST_NUMBER + 1)
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(_WORD_BYTES + 1)], dtype=np.uint64)
# Without control characters, of which a newline and a tab may separate, and without quotes.
_PLAIN = bytes(byte for byte in range(32, 256) if byte not in (_QUOTE, 127)) + b"\n"
_MOST_BLANKS = 8
_LONGEST_LINE = 1000


class Fields:
    """Lines of ``text``, each with its newline, cut at ``separator`` into ``width`` fields.

    ``usual`` (a flag a line): it has as many fields and nothing that needs a closer look, such as
    a comment sign, a control character, or quotes other than around whole fields. Fields of other
    lines read as empty. Blanks around a field, and its quotes, are no part of it.
    """

    def __init__(self, text: str, separator: str, width: int, *, quotes: bool = True) -> None:
        data = text.encode("utf-8", "surrogatepass")
        padded = np.frombuffer(data + bytes(_LONGEST_KEY + _WORD_BYTES), dtype=np.uint8)
        self._data, self._bytes = data, padded[: len(data)]
        # Eight bytes from any place.
        self._words: NDArray[np.uint64] = np.ndarray(
            len(padded) - _WORD_BYTES + 1, "<u8", padded, 0, (1,)
        )
        content = self._bytes
        ends = np.flatnonzero((content == ord(separator)) | (content == _NEWLINE))
        last = np.flatnonzero(content[ends] == _NEWLINE)
        self._line_ends = ends[last]
        self._line_starts = np.concatenate(([0], self._line_ends[:-1] + 1))
        counts = np.diff(last, prepend=-1)
        usual: Flags = counts == width
        usual &= content[self._line_starts] != _HASH
        usual &= self._line_ends - self._line_starts <= _LONGEST_LINE
        usual &= ~self._odd(separator, quotes)
        if usual.all():
            self._ends = ends.reshape(-1, width)
        else:
            self._ends = np.repeat(self._line_ends[:, None], width, axis=1)
            self._ends[usual] = ends[np.repeat(usual, counts)].reshape(-1, width)
        self._starts = np.empty_like(self._ends)
        self._starts[:, 0] = np.where(usual, self._line_starts, self._line_ends)
        self._starts[:, 1:] = self._ends[:, :-1] + 1
        self._starts[~usual] = self._ends[~usual]
        self.usual = usual
        if quotes and b'"' in data:
            self._unquote()
        if b" " in data:
            self._strip()

    def __len__(self) -> int:
        return len(self._line_ends)

    def line(self, number: int) -> str:
        """One line without its end, counted from 0."""
        return self._data[self._line_starts[number] : self._line_ends[number]].decode(
            "utf-8", "surrogatepass"
        )

    def is_empty(self, column: int) -> Flags:
        """Whether nothing stands in a column."""
        return self._starts[:, column] == self._ends[:, column]

    def words(self, column: int, rows: Ints) -> list[bytes]:
        """What stands in a column, in some rows."""
        starts, ends = self._starts[rows, column].tolist(), self._ends[rows, column].tolist()
        return [self._data[start:end] for start, end in zip(starts, ends, strict=True)]

    def numbers(self, column: int, sign: str = "") -> tuple[Ints, Ints, Flags]:
        """Digits with at most one decimal ``sign`` after the first: as a whole number, how many of
        them stand after the sign (-1 without it), and whether this is what the field holds.
        """
        starts = self._starts[:, column]
        lengths = self._ends[:, column] - starts
        plain: Flags = (lengths > 0) & (lengths <= _LONGEST_NUMBER)
        number = np.zeros(len(self), dtype=np.int64)
        decimals = np.full(len(self), -1)
        pointed = np.zeros(len(self), dtype=np.bool_)
        point = (ord(sign) - _ZERO) % 256 if sign else 255
        eight = self._words[starts]
        for place in range(min(int(lengths.max(initial=0)), _LONGEST_NUMBER)):
            if place == _WORD_BYTES:
                eight = self._words[starts + place]
            digit = eight.astype(np.uint8) - np.uint8(_ZERO)
            eight = eight >> np.uint64(8)
            inside = lengths > place
            is_digit = inside & (digit < 10)
            is_point = inside & (digit == point) & ~pointed if place else np.False_
            plain &= is_digit | is_point | ~inside
            number = np.where(is_digit, number * 10 + digit, number)
            pointed |= is_point
            decimals += pointed & inside
        plain &= lengths - pointed <= _EXACT_DIGITS
        return number, decimals, plain

    def keys(self, columns: list[int], rows: Flags) -> tuple[Ints, list[tuple[str, ...]]]:
        """What stands in several columns together: which of the distinct ones each row has (-1
        outside of ``rows`` and where one is too long), and these.
        """
        codes = np.full(len(self), -1)
        lengths = [self._ends[:, column] - self._starts[:, column] for column in columns]
        for length in lengths:
            rows = rows & (length <= _LONGEST_KEY)
        positions = np.flatnonzero(rows)
        if not len(positions):
            return codes, []
        is_new = np.zeros(len(positions), dtype=np.bool_)
        is_new[0] = True
        for column, length in zip(columns, lengths, strict=True):
            starts, left = self._starts[positions, column], length[positions]
            for place in range(0, int(left.max(initial=0)), _WORD_BYTES):
                first = _FIRST_BYTES[np.clip(left - place, 0, _WORD_BYTES)]
                eight = self._words[starts + place] & first
                is_new[1:] |= eight[1:] != eight[:-1]
        # Rows stand together mostly: only the first of those that are alike is looked up.
        heads = np.flatnonzero(is_new)
        known_keys: dict[tuple[bytes, ...], int] = {}
        texts = zip(*(self.words(column, positions[heads]) for column in columns), strict=True)
        of_heads = [
            known_keys.setdefault(key, len(known_keys))
            for key in (texts if columns else [()] * len(heads))
        ]
        codes[positions] = np.repeat(of_heads, np.diff(heads, append=len(positions)))
        return codes, [tuple([word.decode() for word in key]) for key in known_keys]

    def _odd(self, separator: str, quotes: bool) -> Flags:
        """The lines with bytes that are looked at more closely."""
        is_odd = np.zeros(len(self), dtype=np.bool_)
        plain = _PLAIN + separator.encode() + (b'"' if quotes else b"")
        if self._data.translate(None, plain):
            is_plain = np.zeros(256, dtype=np.bool_)
            is_plain[list(plain)] = True
            self._mark(is_odd, np.flatnonzero(~is_plain[self._bytes]))
        if b"\xed" in self._data:
            # What was no text, as "surrogatepass" writes it.
            self._mark(
                is_odd, np.flatnonzero((self._bytes[:-1] == 0xED) & (self._bytes[1:] >= 0xA0))
            )
        return is_odd

    def _mark(self, is_odd: Flags, places: Ints) -> None:
        is_odd[np.searchsorted(self._line_ends, places)] = True

    def _unquote(self) -> None:
        places = np.flatnonzero(self._bytes == _QUOTE)
        quotes = np.bincount(np.searchsorted(self._line_ends, places), minlength=len(self))
        starts, ends = self._starts, self._ends
        is_quoted = ends - starts > 1
        is_quoted &= self._bytes[starts] == _QUOTE
        is_quoted &= self._bytes[ends - 1] == _QUOTE
        is_usual = 2 * is_quoted.sum(axis=1) == quotes
        is_quoted &= is_usual[:, None]
        self._starts, self._ends = starts + is_quoted, ends - is_quoted
        self._forget(self.usual & ~is_usual)

    def _strip(self) -> None:
        for _ in range(_MOST_BLANKS):
            before = (self._bytes[self._starts] == _BLANK) & (self._starts < self._ends)
            self._starts = self._starts + before
            after = (self._bytes[self._ends - 1] == _BLANK) & (self._starts < self._ends)
            self._ends = self._ends - after
            if not (before.any() or after.any()):
                return

    def _forget(self, lines: Flags) -> None:
        self._starts[lines] = self._ends[lines]
        self.usual &= ~lines


def quotient(number: Ints, decimals: Ints) -> NDArray[np.float64]:
    """The floats of ``Fields.numbers``, as float(text) gives them."""
    floats: NDArray[np.float64] = number / _POWERS[np.maximum(decimals, 0)]
    return floats
