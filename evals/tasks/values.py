"""Values that the tool does not know, and exceptions that say which it does."""

from __future__ import annotations

import re
from typing import Final

from evals.answers import number
from evals.task import Task
from evals.world import Function, Offer, World

__all__ = ["TASKS"]

WEATHER: Final = {"Beijing": 21, "Mumbai": 33, "New York": 12}
PRICES: Final = {"desk-lamp": 34.5, "floor-lamp": 79.0, "desk-fan": 25.0}
BRANCHES: Final = ("feature-login", "feature-logout", "main")
RATES: Final = {("EUR", "USD"): 1.08, ("USD", "EUR"): 0.93}
STOCK: Final = {"bolt-m8": 120, "bolt-m10": 75, "nut-m8": 300}


def _misspelt_city(_: World) -> list[Function | Offer]:
    def get_weather(city: str) -> dict[str, object]:
        """Get the current weather of a city."""
        if city not in WEATHER:
            raise ValueError(f"Unknown city {city!r}. Known cities: {', '.join(WEATHER)}.")
        return {"city": city, "temperature_c": WEATHER[city]}

    return [get_weather]


def _misspelt_item(_: World) -> list[Function | Offer]:
    def get_price(item: str) -> float:
        """Get the price of an item in euros."""
        if item not in PRICES:
            raise KeyError(f"no item {item!r}; the items are {', '.join(PRICES)}")
        return PRICES[item]

    return [get_price]


def _misspelt_branch(world: World) -> list[Function | Offer]:
    def delete_branch(name: str) -> str:
        """Delete a branch of the repository."""
        if name not in BRANCHES:
            raise ValueError(f"There is no branch {name!r}. Branches: {', '.join(BRANCHES)}.")
        world.did("delete", name)
        return f"Deleted {name}."

    return [delete_branch]


def _currency_code(_: World) -> list[Function | Offer]:
    def convert(amount: float, source: str, target: str) -> float:
        """Convert an amount of money from one currency to another."""
        for code in (source, target):
            if code not in ("EUR", "USD"):
                raise ValueError(f"{code!r} is no currency code. Use EUR or USD.")
        return round(amount * RATES[source, target], 2)

    return [convert]


def _phone_number(world: World) -> list[Function | Offer]:
    def send_sms(number: str, text: str) -> str:
        """Send a text message to a phone."""
        if not re.fullmatch(r"\+\d{8,15}", number):
            raise ValueError(f"number must be + and digits without spaces, such as +441632960961; got {number!r}")
        world.did("sms", number, text)
        return "sent"

    return [send_sms]


def _date_format(world: World) -> list[Function | Offer]:
    def book_room(room: int, day: str) -> str:
        """Book a meeting room for a day."""
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
            raise ValueError(f"day must look like 2026-12-31, year first; got {day!r}")
        world.did("book", room, day)
        return f"Room {room} is booked."

    return [book_room]


def _out_of_range(world: World) -> list[Function | Offer]:
    def set_temperature(place: str, degrees: int) -> str:
        """Set the temperature of a place."""
        if not 5 <= degrees <= 25:
            raise ValueError(f"degrees must be from 5 to 25; got {degrees}")
        world.did("heat", place.lower().removeprefix("the "), degrees)
        return f"Set to {degrees}."

    return [set_temperature]


def _shape_of_an_id(_: World) -> list[Function | Offer]:
    def get_invoice(invoice_id: str) -> dict[str, object]:
        """Get an invoice by its id."""
        if not re.fullmatch(r"INV-\d{4}", invoice_id):
            raise LookupError(f"no invoice {invoice_id!r}: an id is INV- and four digits, such as INV-0107")
        if invoice_id != "INV-0042":
            raise LookupError(f"there is no invoice {invoice_id}")
        return {"id": invoice_id, "total_eur": 310}

    return [get_invoice]


def _bare_key_error(_: World) -> list[Function | Offer]:
    def get_stock(item: str) -> int:
        """Get how many pieces of an item are in stock. Items are named as list_items names them."""
        return STOCK[item]

    def list_items() -> list[str]:
        """List the names of all items in stock."""
        return list(STOCK)

    return [get_stock, list_items]


TASKS: Final = (
    Task(
        name="misspelt_city",
        stress="ValueError names the valid values",
        request="What is the temperature in Pekin right now?",
        tools=_misspelt_city,
        answer=number("21"),
    ),
    Task(
        name="misspelt_item",
        stress="KeyError names the known keys",
        request="How much does the desklamp cost?",
        tools=_misspelt_item,
        answer=number("34.5"),
    ),
    Task(
        name="misspelt_branch",
        stress="misspelt value of a destructive tool",
        request="Delete the git branch feature_login.",
        tools=_misspelt_branch,
        effects=(("delete", "feature-login"),),
    ),
    Task(
        name="currency_code",
        stress="ValueError says which codes to send",
        request="Convert 50 euros to dollars.",
        tools=_currency_code,
        answer=number("54"),
    ),
    Task(
        name="phone_number",
        stress="ValueError says the format",
        request="Send the text 'Running late' to +49 170 555 0199.",
        tools=_phone_number,
        effects=(("sms", "+491705550199", "Running late"),),
    ),
    Task(
        name="date_format",
        stress="ValueError says the format",
        request="Book room 4 for 5 March 2027.",
        tools=_date_format,
        effects=(("book", 4, "2027-03-05"),),
    ),
    Task(
        name="out_of_range",
        stress="ValueError says the range",
        request="Heat the greenhouse to 30 degrees, or as warm as is allowed.",
        tools=_out_of_range,
        effects=(("heat", "greenhouse", 25),),
    ),
    Task(
        name="shape_of_an_id",
        stress="LookupError says the form of an id",
        request="What is the total of invoice 42?",
        tools=_shape_of_an_id,
        answer=number("310"),
    ),
    Task(
        name="bare_key_error",
        stress="KeyError that helps nobody, beside a tool that lists",
        request="How many M8 bolts are in stock?",
        tools=_bare_key_error,
        answer=number("120"),
    ),
)
