"""Four calls of one turn take as long as the slowest; the answers come in the order of the calls."""

import time

from surehand import AIMessage, ToolNode, tool


@tool
def price(shop: str, seconds: float) -> str:
    """Ask a shop for its price."""
    time.sleep(seconds)
    return f"{shop} answers after {seconds} s."


turn = AIMessage(
    tool_calls=[
        {"id": "a", "name": "price", "args": {"shop": "North", "seconds": 0.4}},
        {"id": "b", "name": "price", "args": {"shop": "East", "seconds": 0.1}},
        {"id": "c", "name": "price", "args": {"shop": "South", "seconds": 0.3}},
        {"id": "d", "name": "price", "args": {"shop": "West", "seconds": 0.2}},
    ]
)
start = time.monotonic()
for answer in ToolNode([price]).invoke([turn]):
    print(answer.tool_call_id, answer.content)
print(f"1.0 s of waiting took {time.monotonic() - start:.1f} s")
