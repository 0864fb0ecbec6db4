"""Article 001, InjectedToolCallId: a tool that learns the id of its call. Only the imports differ from the article."""

from typing import Annotated

from surehand import InjectedToolCallId, tool


@tool
def log_user_action(
    action: str,
    tool_call_id: Annotated[str, InjectedToolCallId],
) -> str:
    """记录用户操作到日志系统。

    Args:
        action: 用户操作描述
        tool_call_id: 系统自动注入的工具调用 ID
    """
    # 实际项目中这里会写入数据库或发送到日志服务
    return f"操作已记录 (调用ID: {tool_call_id}): {action}"


# InjectedToolCallId 参数会被自动注入，不需要手动传入
result = log_user_action.invoke({
    "name": "log_user_action",
    "type": "tool_call",
    "args": {"action": "用户查询了 Python 课程"},
    "id": "manual_call_1"
})
print(result)
