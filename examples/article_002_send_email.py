"""Article 002, section 5.1: a parameter without a default that the model leaves out.

The two schemas are the article's; what is marked "completed" is ours, because the article shows fragments.
"""

from typing import Type

from pydantic import BaseModel, Field, create_model

from surehand import AIMessage, BaseTool, ToolNode


class SendEmailTool(BaseTool):
    name = "send_email"
    description = "Send an email to a user"
    args_schema: Type[BaseModel] = create_model(
        "SendEmailArgs",
        to_address=(str, ...),  # 必填
        subject=(str, ...),  # 必填
        body=(str, ...),  # 必填
    )

    # completed: the article leaves the body out
    def _run(self, to_address: str, subject: str, body: str) -> str:
        return f"Sent {subject!r} to {to_address}, {len(body)} characters."


class SendEmailWithDefaultTool(SendEmailTool):
    # completed: the class around the article's corrected line
    args_schema: Type[BaseModel] = create_model(
        "SendEmailArgs",
        to_address=(str, ...),
        subject=(str, ...),
        body=(str, Field(default="")),  # 或 default=None, 但要在_run里处理None
    )


# the article's call: ``body`` is missing
arguments = '{"to_address": "user@example.com", "subject": "Hello"}'
for tool in (SendEmailTool(), SendEmailWithDefaultTool()):
    ai = AIMessage(tool_calls=[{"id": "call_1", "name": "send_email", "args": arguments}])
    [message] = ToolNode([tool]).invoke({"messages": [ai]})["messages"]
    print(f"{message.status}: {message.content}")
