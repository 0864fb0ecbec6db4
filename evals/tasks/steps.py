"""Tasks of several steps, and effects that must happen exactly as often as they were asked for."""

from __future__ import annotations

from typing import Final

from evals.answers import all_of, number, says
from evals.task import Task
from evals.tasks.faults import unavailable
from evals.world import Function, Offer, World

__all__ = ["TASKS"]

ROOMS: Final = {"Alpha": 12, "Beta": 15, "Gamma": 18}
DEGREES: Final = {"Oslo": 4, "Bergen": 7}


def _look_up_then_act(world: World) -> list[Function | Offer]:
    def find_customer(name: str) -> dict[str, object]:
        """Find a customer and their id by name."""
        if name.lower() != "anna berg":
            raise LookupError(f"no customer {name!r}")
        return {"name": "Anna Berg", "customer_id": 4711}

    def refund(customer_id: int, euros: int) -> str:
        """Refund money to a customer."""
        if customer_id != 4711:
            raise LookupError(f"no customer has the id {customer_id}; find_customer finds ids")
        world.did("refund", customer_id, euros)
        return f"Refunded {euros} euros."

    return [find_customer, refund]


def _look_up_then_read(_: World) -> list[Function | Offer]:
    def find_order(email: str) -> str:
        """Find the id of the newest order of a customer."""
        return "A-17"

    def get_order_status(order_id: str) -> str:
        """Get the status of an order by its id."""
        if order_id != "A-17":
            raise LookupError(f"no order {order_id!r}; find_order finds ids")
        return "out for delivery"

    return [find_order, get_order_status]


def _once(world: World) -> list[Function | Offer]:
    def send_email(to: str, subject: str) -> str:
        """Send an email."""
        world.did("email", to, subject)
        return "ok"

    return [send_email]


def _two_acts(world: World) -> list[Function | Offer]:
    def turn_on_lamp(room: str) -> str:
        """Turn on the lamp of a room."""
        world.did("lamp", room.lower())
        return "on"

    def close_blinds(room: str) -> str:
        """Close the blinds of a room."""
        world.did("blinds", room.lower())
        return "closed"

    return [turn_on_lamp, close_blinds]


def _twice_on_purpose(world: World) -> list[Function | Offer]:
    def water_plant(plant: str) -> str:
        """Give a plant one glass of water."""
        world.did("water", plant.lower())
        return "one glass given"

    return [water_plant]


def _two_readings(_: World) -> list[Function | Offer]:
    def get_degrees(city: str) -> int:
        """Get the current temperature of a city."""
        if city not in DEGREES:
            raise KeyError(f"unknown city {city!r}; known are {', '.join(DEGREES)}")
        return DEGREES[city]

    return [get_degrees]


def _misspelt_then_act(world: World) -> list[Function | Offer]:
    def find_room(name: str) -> dict[str, object]:
        """Find a room and its number by name."""
        if name not in ROOMS:
            raise ValueError(f"No room is called {name!r}. Rooms: {', '.join(ROOMS)}.")
        return {"name": name, "number": ROOMS[name]}

    def book_room(number: int) -> str:
        """Book a room by its number."""
        if number not in ROOMS.values():
            raise ValueError(f"There is no room number {number}. find_room finds numbers by names.")
        world.did("book", number)
        return f"Room {number} is booked."

    return [find_room, book_room]


def _read_then_submit(world: World) -> list[Function | Offer]:
    def read_meter(meter: str) -> int:
        """Read a meter."""
        if world.times("meter") == 1:
            raise unavailable("meters")
        return 5120

    def submit_reading(meter: str, reading: int) -> str:
        """Submit what was read from a meter."""
        world.did("submit", meter, reading)
        return "submitted"

    return [read_meter, submit_reading]


TASKS: Final = (
    Task(
        name="look_up_then_act",
        stress="two steps: find the id, then act",
        request="Refund 20 euros to Anna Berg.",
        tools=_look_up_then_act,
        effects=(("refund", 4711, 20),),
    ),
    Task(
        name="look_up_then_read",
        stress="two steps: find the id, then read",
        request="What is the status of the newest order of kim@example.com?",
        tools=_look_up_then_read,
        answer=says("out for delivery"),
    ),
    Task(
        name="once",
        stress="a side effect that says only 'ok': exactly once",
        request="Send an email to bob@example.com with the subject Lunch.",
        tools=_once,
        effects=(("email", "bob@example.com", "Lunch"),),
    ),
    Task(
        name="two_acts",
        stress="two different side effects, each once",
        request="Turn on the lamp in the study and close the blinds in the study.",
        tools=_two_acts,
        effects=(("lamp", "study"), ("blinds", "study")),
    ),
    Task(
        name="twice_on_purpose",
        stress="the same side effect, asked for twice",
        request="Give the ficus two glasses of water: call water_plant twice.",
        tools=_twice_on_purpose,
        effects=(("water", "ficus"), ("water", "ficus")),
    ),
    Task(
        name="two_readings",
        stress="two calls of one tool",
        request="What is the temperature in Oslo and in Bergen?",
        tools=_two_readings,
        answer=all_of(number("4"), number("7")),
    ),
    Task(
        name="misspelt_then_act",
        stress="two steps, the first with a misspelt value",
        request="Book the room Alfa.",
        tools=_misspelt_then_act,
        effects=(("book", 12),),
    ),
    Task(
        name="read_then_submit",
        stress="two steps, the first answers 503 once",
        request="Read the meter M2 and submit the reading.",
        tools=_read_then_submit,
        effects=(("submit", "M2", 5120),),
    ),
)
