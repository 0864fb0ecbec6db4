"""Names of tools that are nearly right, and tools whose names are alike."""

from __future__ import annotations

from typing import Final

from evals.answers import number, says
from evals.task import Task
from evals.world import Function, Offer, World

__all__ = ["TASKS"]


def _similar_names(world: World) -> list[Function | Offer]:
    def delete_account(user: int) -> str:
        """Delete the account of a user for ever."""
        world.did("delete", user)
        return f"The account of user {user} is deleted."

    def disable_account(user: int) -> str:
        """Lock the account of a user."""
        world.did("disable", user)
        return f"The account of user {user} is locked."

    def archive_account(user: int) -> str:
        """Move the account of a user to the archive."""
        world.did("archive", user)
        return f"The account of user {user} is archived."

    return [delete_account, disable_account, archive_account]


def _case_of_a_name(_: World) -> list[Function | Offer]:
    def get_balance(account: int) -> int:
        """Get the balance of an account in euros."""
        if account != 55:
            raise LookupError(f"there is no account {account}")
        return 812

    return [get_balance]


def _words_swapped(_: World) -> list[Function | Offer]:
    def web_search(query: str) -> str:
        """Search the web."""
        return "The Zugspitze is 2962 metres high."

    def image_search(query: str) -> str:
        """Search for images."""
        return "zugspitze.jpg"

    return [web_search, image_search]


def _singular_and_plural(_: World) -> list[Function | Offer]:
    def get_orders(customer: int) -> list[int]:
        """Get the numbers of the orders that a customer placed."""
        return [29, 30]

    def get_order(order: int) -> dict[str, object]:
        """Get when an order was placed and by whom."""
        return {"order": order, "placed": "2027-01-04", "customer": 6}

    def get_order_items(order: int) -> list[str]:
        """Get the items of an order."""
        return ["kettle", "toaster"] if order == 31 else []

    return [get_orders, get_order, get_order_items]


TASKS: Final = (
    Task(
        name="similar_names",
        stress="three tools of similar names, one right",
        request="Archive the account of user 8.",
        tools=_similar_names,
        effects=(("archive", 8),),
    ),
    Task(
        name="case_of_a_name",
        stress="a tool's name in the wrong case",
        request="Call the function GetBalance for account 55 and tell me the balance.",
        tools=_case_of_a_name,
        answer=number("812"),
    ),
    Task(
        name="words_swapped",
        stress="a tool's name with its words swapped",
        request="Use search_web to find the height of the Zugspitze in metres.",
        tools=_words_swapped,
        answer=number("2962"),
    ),
    Task(
        name="singular_and_plural",
        stress="get_order, get_orders, get_order_items",
        request="Which items are in order 31?",
        tools=_singular_and_plural,
        answer=says("kettle"),
    ),
)
