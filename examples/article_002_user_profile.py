"""Article 002, section 2.1: a tool with a schema, and what a model sends it.

The class is the article's; what is marked "completed" is ours, because the article shows a fragment.
"""

from typing import Type

from pydantic import BaseModel, Field, create_model

from surehand import AIMessage, BaseTool, ToolNode


class UserProfileTool(BaseTool):
    name = "fetch_user_profile"
    description = "Fetch user profile and history"
    args_schema: Type[BaseModel] = create_model(
        "UserProfileArgs",
        user_id=(str, Field(description="The unique ID of the user")),
        include_history=(bool, Field(default=False, description="Whether to include interaction history")),
    )

    # completed: the article leaves the body out
    def _run(self, user_id: str, include_history: bool) -> dict:
        history = ["login", "order"] if include_history else []
        return {"user_id": user_id, "history": history}


# completed: three calls as the article describes them: a number for a flag, a default, a name the schema lacks
ai = AIMessage(
    tool_calls=[
        {"id": "call_1", "name": "fetch_user_profile", "args": '{"user_id": "U123", "include_history": 1}'},
        {"id": "call_2", "name": "fetch_user_profile", "args": '{"user_id": "U123"}'},
        {"id": "call_3", "name": "fetch_user_profile", "args": '{"uid": "U123", "with_history": true}'},
    ]
)
for message in ToolNode([UserProfileTool()]).invoke({"messages": [ai]})["messages"]:
    print(f"{message.tool_call_id} {message.status}: {message.content}")
