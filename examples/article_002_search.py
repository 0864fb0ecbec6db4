"""Article 002, sections 3.2 and 3.3: constraints, and a body that receives the validated model.

The model and ``_run`` are the article's; what is marked "completed" is ours, because the article shows a fragment.
"""

import json
from typing import Optional

from pydantic import BaseModel, Field

from surehand import AIMessage, BaseTool, ToolNode


class SearchArgs(BaseModel):
    query: str = Field(..., min_length=1, max_length=200)
    limit: int = Field(default=10, ge=1, le=100)
    category: Optional[str] = None


# completed: something to search in
class SearchEngine:
    def search(self, query: str, limit: int, category: Optional[str]) -> dict:
        return {"results": [{"id": "R1", "title": f"{query} Guide"}][:limit]}


class SearchTool(BaseTool):
    # completed: the name, the description, and where the engine comes from
    name = "search"
    description = "Search the guides"
    args_schema = SearchArgs

    def __init__(self) -> None:
        super().__init__()
        self._search_engine = SearchEngine()

    def _run(self, args: SearchArgs) -> str:
        # args.query 是str，args.limit 是int，args.category 是str or None
        # 你再也不用写 if not args.get("query"): raise ValueError(...)
        results = self._search_engine.search(args.query, args.limit, args.category)
        return json.dumps(results)


# completed: a call that is right, one with a field the article says is ignored, one that breaks two rules
ai = AIMessage(
    tool_calls=[
        {"id": "call_abc123", "name": "search", "args": '{"query": "LangGraph"}'},
        {"id": "call_def456", "name": "search", "args": {"query": "LangGraph", "limit": "5"}, "confidence": 0.95},
        {"id": "call_ghi789", "name": "search", "args": {"query": "", "limit": 1000}},
    ]
)
for message in ToolNode([SearchTool()]).invoke({"messages": [ai]})["messages"]:
    print(f"{message.name} {message.tool_call_id} {message.status}")
    print(message.content)
