"""The tools of the demo, a shop's order desk. They really run, and what they did can be looked up afterwards."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

from surehand import BaseTool, RetryPolicy, Tool, ToolException

__all__ = ["SECRETS", "Desk"]

SECRETS: Final = ("Tr0ub4dor-3", "sk-live-4f9aK2mQ8vX1bZ7c")
"""What the crash of ``customer_address`` carries and nobody may be told."""
_LOG_LENGTH: Final = 200_000
_WAITS: Final = {"North": 0.4, "East": 0.1, "South": 0.3, "West": 0.2}


@dataclass(slots=True, kw_only=True)
class Desk:
    """An order desk, with a record of what its tools did."""

    refunds: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    notes: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    lookups: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    rate_requests: int = 0
    supplier_spans: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Start and end of each call to a supplier, in seconds of the monotonic clock."""

    def refund(self, order_id: int, amount: float) -> str:
        """Pay money back to the customer.

        Args:
            order_id: The number of the order.
            amount: How much, in euro.
        """
        self.refunds.append((order_id, amount))
        return f"Refunded {amount:.2f} euro for order {order_id}."

    def add_note(self, order_id: int, text: str) -> str:
        """Add a note to an order.

        Args:
            order_id: The number of the order.
            text: What the note says.
        """
        self.notes.append((order_id, text))
        return f"Order {order_id} has {len(self.notes)} notes."

    def find_order(self, order_id: int, with_items: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - named by the model
        """Look up an order.

        Args:
            order_id: The number of the order.
            with_items: Whether to list what was ordered.
        """
        self.lookups.append((order_id, with_items))
        items = {"items": ["lamp", "bulb"]} if with_items else {}
        return {"order_id": order_id, "status": "shipped", "parcel_id": "P-17", **items}

    def track_parcel(self, parcel_id: str) -> str:
        """Ask the carrier where a parcel is.

        Args:
            parcel_id: The parcel's number, such as P-17.
        """
        threading.Event().wait(60)  # the carrier does not answer
        return f"Parcel {parcel_id} is on its way."

    def exchange_rate(self, currency: str) -> float:
        """Ask the bank how much of a currency one euro buys.

        Args:
            currency: The currency's three letters, such as USD.
        """
        self.rate_requests += 1
        if self.rate_requests < 3:  # noqa: PLR2004 - the bank is busy twice
            raise ToolException("The bank is busy.", retryable=True)
        return {"USD": 1.08, "GBP": 0.86}.get(currency.upper(), 1.0)

    def customer_address(self, order_id: int) -> str:
        """Look up where an order's customer lives.

        Args:
            order_id: The number of the order.
        """
        password, key = SECRETS
        raise PermissionError(
            f"postgresql://shop:{password}@db.internal:5432/customers refused order {order_id} (api_key={key})"
        )

    def ask_supplier(self, supplier: str) -> str:
        """Ask a supplier when a lamp is in stock.

        Args:
            supplier: North, East, South or West.
        """
        start = time.monotonic()
        time.sleep(_WAITS.get(supplier, 0.1))
        self.supplier_spans.append((start, time.monotonic()))
        return f"{supplier}: in stock within {len(supplier)} days."

    def export_log(self, order_id: int) -> str:
        """Export everything that happened to an order.

        Args:
            order_id: The number of the order.
        """
        line = f"order {order_id} was scanned at gate 7; "
        return (line * (_LOG_LENGTH // len(line) + 1))[:_LOG_LENGTH]

    def tools(self) -> list[BaseTool]:
        """The desk's tools for a model."""
        return [
            Tool.from_function(self.refund, exclusive=True),
            Tool.from_function(self.add_note),
            Tool.from_function(self.find_order, read_only=True),
            Tool.from_function(self.track_parcel, read_only=True, timeout=0.5),
            Tool.from_function(
                self.exchange_rate, read_only=True, retry=RetryPolicy(initial_interval=0.1, jitter=False)
            ),
            Tool.from_function(self.customer_address, read_only=True),
            Tool.from_function(self.ask_supplier, read_only=True),
            Tool.from_function(self.export_log, read_only=True, max_output=300),
        ]
