"""Results that are long, empty, or no plain JSON."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs] - it ships none

from evals.answers import all_of, any_of, number, says, says_not
from evals.task import Task
from evals.world import Function, Offer, World

__all__ = ["LONG", "TASKS"]

LONG: Final = 20_000
"""Characters of a long result."""
SUBJECTS: Final = ("The team", "A visitor", "The office", "Our partner", "The workshop", "A colleague", "The board")
VERBS: Final = ("talked about", "looked at", "postponed", "agreed on", "wondered about", "wrote down", "praised")
OBJECTS: Final = ("the garden", "the old plan", "new chairs", "the weather", "a long journey", "the menu", "the roof")


@dataclass(frozen=True)
class Employee:
    """Somebody who works here."""

    name: str
    role: str
    since: dt.date


class Reading:
    """What a sensor's driver hands out: attributes, and no text of its own."""

    def __init__(self, value: float, unit: str) -> None:
        self.value = value
        self.unit = unit


def _prose(length: int) -> str:
    """Text about nothing, the same every time."""
    sentences: list[str] = []
    size = 0
    while size < length:
        count = len(sentences)
        subject = SUBJECTS[count % 7]
        verb = VERBS[(count // 7 + count) % 7]
        sentences.append(f"{subject} {verb} {OBJECTS[(count // 49 + 2 * count) % 7]}.")
        size += len(sentences[-1]) + 1
    return "\n".join(sentences)


def _long_head(_: World) -> list[Function | Offer]:
    def read_release_notes() -> str:
        """Read the release notes of the product."""
        return f"These are the notes of version 4.2.1.\n{_prose(LONG)}"

    return [read_release_notes]


def _long_tail(_: World) -> list[Function | Offer]:
    def read_minutes() -> str:
        """Read the minutes of the meeting."""
        return f"{_prose(LONG)}\nThe next meeting is in room Birch."

    return [read_minutes]


def _long_middle(_: World) -> list[Function | Offer]:
    def read_diary() -> str:
        """Read the diary of the front desk."""
        half = _prose(LONG // 2)
        return f"{half}\nA guest called Ortega left a parcel in locker 58.\n{half}"

    return [read_diary]


def _numpy_scalar(_: World) -> list[Function | Offer]:
    def get_mean_temperature(sensor: str) -> Any:
        """Get the mean temperature of a sensor."""
        return np.mean(np.array([20.0, 21.5, 23.0]))

    return [get_mean_temperature]


def _numpy_array(_: World) -> list[Function | Offer]:
    def get_visitors(days: int) -> dict[str, Any]:
        """Get the number of visitors of each of the last days, the oldest first."""
        return {"visitors": np.array([310, 145, 278, 92])[:days], "total": np.int64(np.sum([310, 145, 278, 92][:days]))}

    return [get_visitors]


def _data_frame(_: World) -> list[Function | Offer]:
    def get_sales() -> Any:
        """Get the sales of all regions."""
        return pd.DataFrame({"region": ["South", "North", "East"], "sales": [120, 455, 87]})

    return [get_sales]


def _datetime(_: World) -> list[Function | Offer]:
    def get_train(train: int) -> dict[str, Any]:
        """Get when and where a train departs."""
        return {"train": train, "departs": dt.datetime(2027, 3, 1, 14, 35, tzinfo=dt.UTC), "platform": 6}

    return [get_train]


def _decimal(_: World) -> list[Function | Offer]:
    def get_account(account: int) -> dict[str, Any]:
        """Get an account with its balance."""
        return {"account": account, "balance": Decimal("1204.10"), "currency": "EUR"}

    return [get_account]


def _dataclasses(_: World) -> list[Function | Offer]:
    def list_employees() -> list[Employee]:
        """List all employees."""
        return [
            Employee("Jon Park", "accountant", dt.date(2019, 5, 1)),
            Employee("Mara Diaz", "head of sales", dt.date(2021, 9, 15)),
        ]

    return [list_employees]


def _none(world: World) -> list[Function | Offer]:
    def delete_file(path: str) -> None:
        """Delete a file."""
        world.did("delete", path)

    return [delete_file]


def _empty_list(_: World) -> list[Function | Offer]:
    def list_orders(customer: int) -> list[int]:
        """List the orders of a customer."""
        return []

    return [list_orders]


def _generator(_: World) -> list[Function | Offer]:
    def list_colours() -> Iterator[str]:
        """List the colours that the paint comes in."""
        yield from ("teal", "ochre", "plum")

    return [list_colours]


def _unicode(_: World) -> list[Function | Offer]:
    def get_temperature(city: str) -> dict[str, object]:
        """Get the current temperature of a city."""
        return {"城市": city, "温度": 27, "天气": "晴"}

    return [get_temperature]


def _unicode_effect(world: World) -> list[Function | Offer]:
    def send_message(to: str, text: str) -> str:
        """Send a message to somebody."""
        world.did("message", to, text)
        return "✓ отправлено"

    return [send_message]


def _not_a_number(_: World) -> list[Function | Offer]:
    def get_climate(room: str) -> dict[str, float]:
        """Get temperature and humidity of a room."""
        return {"temperature": math.nan, "humidity": 40.0}

    return [get_climate]


def _bytes(_: World) -> list[Function | Offer]:
    def read_file(path: str) -> bytes:
        """Read a file."""
        return b"The code of the door is 4417.\n"

    return [read_file]


def _plain_object(_: World) -> list[Function | Offer]:
    def read_sensor(sensor: str) -> Reading:
        """Read a sensor."""
        return Reading(7.25, "bar")

    return [read_sensor]


def _async_tool(_: World) -> list[Function | Offer]:
    async def get_quote(symbol: str) -> dict[str, object]:
        """Get the price of a share."""
        return {"symbol": symbol, "price": Decimal("88.40")}

    return [get_quote]


TASKS: Final = (
    Task(
        name="long_head",
        stress="20 KB of text, the answer at its head",
        request="Which version do the release notes describe?",
        tools=_long_head,
        answer=says("4.2.1"),
    ),
    Task(
        name="long_tail",
        stress="20 KB of text, the answer at its tail",
        request="In which room is the next meeting, as the minutes say?",
        tools=_long_tail,
        answer=says("Birch"),
    ),
    Task(
        name="long_middle",
        stress="20 KB of text, the answer in its middle",
        request="In which locker did the guest Ortega leave a parcel? It is in the diary.",
        tools=_long_middle,
        answer=number("58"),
    ),
    Task(
        name="numpy_scalar",
        stress="a numpy scalar",
        request="What is the mean temperature of sensor B?",
        tools=_numpy_scalar,
        answer=number("21.5"),
    ),
    Task(
        name="numpy_array",
        stress="numpy arrays in a dict",
        request="How many visitors came on each of the last 3 days?",
        tools=_numpy_array,
        answer=all_of(number("310"), number("145"), number("278")),
    ),
    Task(
        name="data_frame",
        stress="a pandas table",
        request="Which region has the highest sales? Name only that one.",
        tools=_data_frame,
        answer=all_of(says("North"), says_not("South", "East")),
    ),
    Task(
        name="datetime",
        stress="a datetime in a dict",
        request="At what time does train 512 depart?",
        tools=_datetime,
        answer=any_of(says("14:35"), says("2:35")),
    ),
    Task(
        name="decimal",
        stress="a Decimal in a dict",
        request="What is the balance of account 9?",
        tools=_decimal,
        answer=number("1204.1"),
    ),
    Task(
        name="dataclasses",
        stress="a list of dataclasses",
        request="Who is the head of sales?",
        tools=_dataclasses,
        answer=says("Mara Diaz"),
    ),
    Task(
        name="none",
        stress="None as result of a side effect",
        request="Delete the file old.txt.",
        tools=_none,
        effects=(("delete", "old.txt"),),
    ),
    Task(
        name="empty_list",
        stress="an empty list",
        request="Which orders did customer 12 place?",
        tools=_empty_list,
        answer=any_of(says("no "), says("none"), says("not "), says("n't"), says("empty"), number("0")),
    ),
    Task(
        name="generator",
        stress="a generator",
        request="Which colours does the paint come in?",
        tools=_generator,
        answer=all_of(says("teal"), says("ochre"), says("plum")),
    ),
    Task(
        name="unicode",
        stress="a request and a result in Chinese",
        request="京都现在多少度？",
        tools=_unicode,
        answer=number("27"),
    ),
    Task(
        name="unicode_effect",
        stress="arguments with accents, Chinese and an emoji",
        request="Send the message 'Grüße, 世界 👋' to Zoë.",
        tools=_unicode_effect,
        effects=(("message", "Zoë", "Grüße, 世界 👋"),),
    ),
    Task(
        name="not_a_number",
        stress="NaN in a dict",
        request="What is the humidity in the cellar?",
        tools=_not_a_number,
        answer=number("40"),
    ),
    Task(
        name="bytes",
        stress="bytes",
        request="Read the file door.txt. What is the code of the door?",
        tools=_bytes,
        answer=number("4417"),
    ),
    Task(
        name="plain_object",
        stress="an object without a text of its own",
        request="What is the pressure at sensor P1?",
        tools=_plain_object,
        answer=number("7.25"),
    ),
    Task(
        name="async_tool",
        stress="an async tool with a Decimal",
        request="What is the price of the share ACME?",
        tools=_async_tool,
        answer=number("88.4"),
    ),
)
