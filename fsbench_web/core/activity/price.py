"""What an operation costs of the price that somebody stated for the hardware. Pure.

Straight-line depreciation: of a price P that is spread evenly over Y years of use, a measured part
of s seconds takes P * s / (Y * 365.25 * 86,400); for each million operations that is divided by the
operations and multiplied by a million. The whole price counts, whatever else the machine could do
meanwhile; energy, room and people do not. Price for performance of the whole system is what the
TPC's Pricing Specification and SPC-1 report, over three years; the years here are an assumption
that is stated with the price.
"""

import re
from dataclasses import dataclass

CURRENCIES = ("EUR", "USD", "GBP", "CHF")
USUAL_YEARS = 5.0
LEAST_OPERATIONS = 100
LEAST_S = 0.5
SECONDS_OF_A_YEAR = 365.25 * 86_400
MILLION = 1e6
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,2})?")
_YEARS = re.compile(r"[0-9]{1,2}(\.[0-9]{1,2})?")


class InvalidPrice(ValueError):
    """What was given is no price; the text says what is one."""


@dataclass(frozen=True)
class Price:
    """``amount`` in ``currency`` (one of CURRENCIES) is spread over ``years``."""

    amount: float
    currency: str
    years: float


def parsed(amount: str, currency: str, years: str) -> Price | None:
    """The price that texts of a form state; None for no amount.

    Raises InvalidPrice, in words for people.
    """
    amount, years = amount.strip().replace(",", ""), years.strip()
    if not amount:
        return None
    if not _AMOUNT.fullmatch(amount) or float(amount) == 0:
        raise InvalidPrice(
            f'"{amount[:40]}" is no price: give it as 12000 or 12000.50, or nothing where it is '
            "not known."
        )
    if currency not in CURRENCIES:
        raise InvalidPrice(f"The currency is one of {', '.join(CURRENCIES)}.")
    if not _YEARS.fullmatch(years) or not 0.5 <= float(years) <= 50:
        raise InvalidPrice(f'"{years[:40]}" are no years of use: give 0.5 to 50, as 5 or 3.5.')
    return Price(float(amount), currency, float(years))


def test_of(currency: str) -> str:
    """The cost's test; one for each currency, because no table may mix them."""
    return f"price_{currency.lower()}_per_million_operations"


TESTS = frozenset(map(test_of, CURRENCIES))


def per_million_operations(price: Price | None, seconds: float, operations: float) -> float | None:
    """In its currency; None where there is no price, or too little was done to say anything."""
    if price is None or operations < LEAST_OPERATIONS or seconds < LEAST_S:
        return None
    of_the_time = price.amount * seconds / (price.years * SECONDS_OF_A_YEAR)
    return of_the_time / operations * MILLION
