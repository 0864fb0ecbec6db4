"""Arguments of the wrong kind or case: enums, lists as text, numbers in words, nested objects, nulls, extras."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from pydantic import BaseModel

from evals.answers import number, says
from evals.task import Task
from evals.world import Function, Offer, World

__all__ = ["TASKS"]


class Colour(Enum):
    """A colour that a door can have."""

    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Customer(BaseModel):
    """Who orders, and where it goes."""

    name: str
    street: str
    city: str


class Item(BaseModel):
    """What is ordered."""

    product: Literal["mug", "teapot", "plate"]
    quantity: int


@dataclass
class Event:
    """Something in the calendar."""

    title: str
    day: dt.date
    attendees: list[str]


def _enum_case(world: World) -> list[Function | Offer]:
    def set_priority(ticket: int, priority: Literal["low", "normal", "high"]) -> str:
        """Set the priority of a ticket."""
        world.did("priority", ticket, priority)
        return f"Ticket {ticket} now has priority {priority}."

    return [set_priority]


def _enum_class(world: World) -> list[Function | Offer]:
    def paint_door(door: int, colour: Colour) -> str:
        """Paint a door."""
        world.did("paint", door, colour.value)
        return f"Door {door} is painted."

    return [paint_door]


def _list_as_text(world: World) -> list[Function | Offer]:
    def tag_note(note: int, tags: list[str]) -> str:
        """Put tags on a note."""
        world.did("tag", note, sorted(tag.lower() for tag in tags))
        return "tagged"

    return [tag_note]


def _number_in_words(world: World) -> list[Function | Offer]:
    def order_tea(boxes: int, sort: Literal["green", "black"]) -> str:
        """Order boxes of tea."""
        world.did("order", boxes, sort)
        return f"Ordered {boxes} boxes."

    return [order_tea]


def _list_of_numbers(_: World) -> list[Function | Offer]:
    def average(numbers: list[float]) -> float:
        """Compute the average of numbers."""
        return sum(numbers) / len(numbers)

    return [average]


def _bool_in_words(world: World) -> list[Function | Offer]:
    def set_light(room: str, is_on: bool) -> str:  # noqa: FBT001 - the kind of argument that is tried here
        """Switch the light of a room."""
        world.did("light", room.lower(), is_on)
        return "done"

    return [set_light]


def _date_object(_: World) -> list[Function | Offer]:
    def get_weekday(day: dt.date) -> str:
        """Get the day of the week of a date."""
        return f"{day:%A}"

    return [get_weekday]


def _nested_objects(world: World) -> list[Function | Offer]:
    def create_order(customer: Customer, items: list[Item]) -> str:
        """Create an order for a customer."""
        ordered = sorted([item.product, item.quantity] for item in items)
        world.did("order", customer.name, customer.city, ordered)
        return "Order 881 is created."

    return [create_order]


def _nested_dataclass(world: World) -> list[Function | Offer]:
    def add_event(event: Event) -> str:
        """Add an event to the calendar."""
        world.did("event", event.title.lower(), event.day.isoformat(), sorted(event.attendees))
        return "added"

    return [add_event]


def _optional_argument(_: World) -> list[Function | Offer]:
    def find_flight(origin: str, destination: str, max_stops: int = 2, airline: str = "any") -> dict[str, object]:
        """Find the next flight."""
        if max_stops < 0 or airline not in ("any", "SK"):
            return {"found": "no flight"}
        return {"flight": "SK 501", "departs": "09:40", "from": origin, "to": destination}

    return [find_flight]


def _extra_argument(_: World) -> list[Function | Offer]:
    def get_time(city: str) -> str:
        """Get the current time of a city."""
        return f"It is 21:15 in {city}."

    return [get_time]


TASKS: Final = (
    Task(
        name="enum_case",
        stress="'HIGH' where 'high' is meant",
        request="Set the priority of ticket 12 to HIGH.",
        tools=_enum_case,
        effects=(("priority", 12, "high"),),
    ),
    Task(
        name="enum_class",
        stress="'Red' for an Enum's 'red'",
        request="Paint door 3 in the colour Red.",
        tools=_enum_class,
        effects=(("paint", 3, "red"),),
    ),
    Task(
        name="list_as_text",
        stress="a list, perhaps sent as text",
        request="Tag note 7 with these tags: urgent, billing.",
        tools=_list_as_text,
        effects=(("tag", 7, ["billing", "urgent"]),),
    ),
    Task(
        name="number_in_words",
        stress="a number in words",
        request="Order three boxes of green tea.",
        tools=_number_in_words,
        effects=(("order", 3, "green"),),
    ),
    Task(
        name="list_of_numbers",
        stress="numbers, perhaps sent as text",
        request="What is the average of 4, 8 and 15? Use the tool.",
        tools=_list_of_numbers,
        answer=number("9"),
    ),
    Task(
        name="bool_in_words",
        stress="'off' for false",
        request="Switch the kitchen light off.",
        tools=_bool_in_words,
        effects=(("light", "kitchen", False),),
    ),
    Task(
        name="date_object",
        stress="a date as the argument's type",
        request="On which day of the week is 14 July 2027?",
        tools=_date_object,
        answer=says("Wednesday"),
    ),
    Task(
        name="nested_objects",
        stress="nested objects and a list of objects",
        request="Create an order of 2 mugs and 1 teapot for Ana Lima, Rua Nova 5, Lisbon.",
        tools=_nested_objects,
        effects=(("order", "Ana Lima", "Lisbon", [["mug", 2], ["teapot", 1]]),),
    ),
    Task(
        name="nested_dataclass",
        stress="a dataclass as argument",
        request="Add the event Review on 2027-05-04 with the attendees Kim and Lee to the calendar.",
        tools=_nested_dataclass,
        effects=(("event", "review", "2027-05-04", ["Kim", "Lee"]),),
    ),
    Task(
        name="optional_argument",
        stress="optional arguments, perhaps sent as null",
        request="Find a flight from Oslo to Rome. Any airline will do.",
        tools=_optional_argument,
        answer=says("501"),
    ),
    Task(
        name="extra_argument",
        stress="an argument that the tool does not have",
        request="What time is it in Tokyo, in 24-hour format?",
        tools=_extra_argument,
        answer=says("21:15"),
    ),
)
