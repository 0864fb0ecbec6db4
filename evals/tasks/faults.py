"""Tools that are flaky, slow, closed or unsure what became of a call."""

from __future__ import annotations

from typing import Final

import httpx

from evals.answers import number, says
from evals.task import Task
from evals.world import Function, Offer, World

__all__ = ["TASKS", "unavailable"]

PATIENCE: Final = 2.0
"""Seconds that the hanging tools are given."""


class TooManyRequests(Exception):
    """What a client raises when it is told to slow down."""

    def __init__(self) -> None:
        super().__init__("429 Too Many Requests: slow down")
        self.status_code = 429
        self.retry_after = 0.2


def unavailable(path: str) -> httpx.HTTPStatusError:
    """What httpx raises for a 503."""
    request = httpx.Request("GET", f"https://api.example.com/{path}")
    response = httpx.Response(503, request=request)
    return httpx.HTTPStatusError(
        f"Server error '503 Service Unavailable' for url '{request.url}'", request=request, response=response
    )


def _busy_once(world: World) -> list[Function | Offer]:
    def get_exchange_rate(source: str, target: str) -> float:
        """Get an exchange rate by the codes of two currencies."""
        if world.times("rate") == 1:
            raise unavailable("rates")
        return 0.94

    return [get_exchange_rate]


def _reset_twice(world: World) -> list[Function | Offer]:
    def get_water_level(station: str) -> dict[str, object]:
        """Get the water level at a station in centimetres."""
        if world.times("level") <= 2:
            raise ConnectionError("Connection reset by peer")
        return {"station": station, "level_cm": 418}

    return [get_water_level]


def _author_says_busy(world: World) -> list[Function | Offer]:
    def book_table(table: int, time: str) -> str:
        """Book a table of the restaurant."""
        if world.times("table") == 1:
            raise world.idiom.busy("The booking desk is busy for a moment. Nothing was booked.")
        world.did("table", table, time)
        return f"Table {table} is booked for {time}."

    return [book_table]


def _busy_write(world: World) -> list[Function | Offer]:
    def save_note(text: str) -> str:
        """Save a note."""
        if world.times("note") == 1:
            raise unavailable("notes")
        world.did("note", text.lower().rstrip("."))
        return "saved"

    return [save_note]


def _rate_limit(world: World) -> list[Function | Offer]:
    def count_open_tickets() -> int:
        """Count the open tickets."""
        if world.times("tickets") == 1:
            raise TooManyRequests
        return 17

    return [count_open_tickets]


def _backup_source(world: World) -> list[Function | Offer]:
    def get_gold_price_main() -> float:
        """Get the price of gold in dollars from the main source."""
        world.hang()
        return 0.0

    def get_gold_price_backup() -> float:
        """Get the price of gold in dollars from the backup source."""
        return 2410.0

    return [Offer(function=get_gold_price_main, timeout=PATIENCE), get_gold_price_backup]


def _hangs_once(world: World) -> list[Function | Offer]:
    def read_tank(tank: int) -> dict[str, object]:
        """Read how full a tank is, in percent."""
        if world.times("tank") == 1:
            world.hang()
        return {"tank": tank, "percent": 63}

    return [Offer(function=read_tank, timeout=PATIENCE)]


def _hangs_once_async(world: World) -> list[Function | Offer]:
    async def get_queue_length(queue: str) -> int:
        """Get the number of jobs in a queue."""
        if world.times("queue") == 1:
            await world.hang_async()
        return 38

    return [Offer(function=get_queue_length, timeout=PATIENCE)]


def _out_of_order(world: World) -> list[Function | Offer]:
    def open_gate(gate: int) -> str:
        """Open a gate."""
        raise RuntimeError(f"Gate {gate} cannot be opened: its motor is being repaired until 18:00.")

    return [open_gate]


def _not_allowed(world: World) -> list[Function | Offer]:
    def close_account(account: int) -> str:
        """Close an account."""
        raise world.idiom.refusal(f"You may not close account {account}. Only its owner, Dana, can do that.")

    return [close_account]


def _charged_then_lost(world: World) -> list[Function | Offer]:
    charges: list[tuple[int, int]] = []

    def charge_card(customer: int, euros: int) -> str:
        """Charge the card of a customer."""
        world.did("charge", customer, euros)
        charges.append((customer, euros))
        if len(charges) == 1:
            raise httpx.ReadTimeout("The read operation timed out")
        return "charged"

    def list_charges(customer: int) -> list[int]:
        """List what the card of a customer was charged today, in euros."""
        return [euros for charged, euros in charges if charged == customer]

    return [charge_card, list_charges]


def _sent_then_hangs(world: World) -> list[Function | Offer]:
    sent: list[int] = []

    def send_invoice(invoice: int) -> str:
        """Send an invoice to its customer."""
        world.did("send", invoice)
        sent.append(invoice)
        if len(sent) == 1:
            world.hang()
        return "sent"

    def get_invoice_status(invoice: int) -> str:
        """Get whether an invoice was sent."""
        return "sent" if invoice in sent else "not sent"

    return [Offer(function=send_invoice, timeout=PATIENCE), get_invoice_status]


TASKS: Final = (
    Task(
        name="busy_once",
        stress="a read that answers 503 once",
        request="What is the exchange rate from EUR to CHF?",
        tools=_busy_once,
        answer=number("0.94"),
    ),
    Task(
        name="reset_twice",
        stress="a read that loses its connection twice",
        request="What is the water level at station Dresden?",
        tools=_reset_twice,
        answer=number("418"),
    ),
    Task(
        name="author_says_busy",
        stress="a write whose author says: nothing happened, try again",
        request="Book table 5 for 19:00.",
        tools=_author_says_busy,
        effects=(("table", 5, "19:00"),),
    ),
    Task(
        name="busy_write",
        stress="a write that answers 503 once",
        request="Save this note: buy milk.",
        tools=_busy_write,
        effects=(("note", "buy milk"),),
    ),
    Task(
        name="rate_limit",
        stress="429 with retry_after",
        request="How many tickets are open?",
        tools=_rate_limit,
        answer=number("17"),
    ),
    Task(
        name="backup_source",
        stress="a tool that always hangs, beside one that works",
        request="What is the price of gold? Ask the main source. If it does not answer, ask the backup source.",
        tools=_backup_source,
        answer=number("2410"),
    ),
    Task(
        name="hangs_once",
        stress="a read that hangs once",
        request="How full is tank 2?",
        tools=_hangs_once,
        answer=number("63"),
    ),
    Task(
        name="hangs_once_async",
        stress="an async read that hangs once",
        request="How many jobs are in the queue 'mail'?",
        tools=_hangs_once_async,
        answer=number("38"),
    ),
    Task(
        name="out_of_order",
        stress="a tool that cannot do it and says why",
        request="Open gate 3. If it does not work, tell me until when.",
        tools=_out_of_order,
        answer=says("18:00"),
    ),
    Task(
        name="not_allowed",
        stress="a refusal in the author's words",
        request="Close account 9. If that is not possible, tell me who can do it.",
        tools=_not_allowed,
        answer=says("Dana"),
    ),
    Task(
        name="charged_then_lost",
        stress="a side effect, then no answer: exactly once",
        request="Charge customer 31 20 euros.",
        tools=_charged_then_lost,
        effects=(("charge", 31, 20),),
    ),
    Task(
        name="sent_then_hangs",
        stress="a side effect, then it hangs: exactly once",
        request="Send invoice 77 to its customer.",
        tools=_sent_then_hangs,
        effects=(("send", 77),),
    ),
)
