"""Article 002, section 5.2: results that plain JSON cannot carry.

``_run`` of the first tool is the article's; what is marked "completed" is ours, because the article shows a fragment.
"""

import json
from datetime import datetime
from decimal import Decimal

from pydantic import BaseModel

from surehand import AIMessage, BaseTool, ToolNode


# completed: the arguments
class ReportArgs(BaseModel):
    user_id: str


class ReportTool(BaseTool):
    """Report on a user's account."""  # completed: a tool needs a description

    args_schema = ReportArgs

    # completed: the article's report holds a date and a Decimal
    def _generate_report(self, user_id: str) -> dict:
        return {"user_id": user_id, "balance": Decimal("123.45"), "as_of": datetime(2024, 1, 15, 9, 30)}

    def _run(self, args: ReportArgs) -> str:
        report_data = self._generate_report(args.user_id)
        # report_data 可能包含 datetime, Decimal 等
        return json.dumps(report_data, default=str)  # default=str 处理所有不可序列化类型


# completed: the same tool without the author's care
class CarelessReportTool(ReportTool):
    """Report on a user's account, as it is."""

    def _run(self, args: ReportArgs) -> dict:
        return self._generate_report(args.user_id)


names = ["report_tool", "careless_report_tool"]
ai = AIMessage(tool_calls=[{"id": name, "name": name, "args": {"user_id": "U123"}} for name in names])
for message in ToolNode([ReportTool(), CarelessReportTool()]).invoke({"messages": [ai]})["messages"]:
    print(f"{message.name}: {message.content}")
