"""A conversation of plain OpenAI dicts goes in, plain OpenAI dicts come out; no class of ours is in between."""

import json

from surehand import ToolNode, tool


@tool
def get_weather(city: str, days: int = 1) -> dict:
    """Forecast the weather of a city."""
    return {"city": city, "days": days, "sky": "sunny"}


messages = [
    {"role": "user", "content": "How is the weather in Beijing?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Beijing", "days": "3"}'},
            },
            {
                "id": "call_2",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Beij'},
            },
        ],
    },
]
for answer in ToolNode([get_weather]).invoke(messages):
    print(json.dumps(answer, indent=2))
