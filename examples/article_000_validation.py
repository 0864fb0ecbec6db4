"""Article 000, its whole program: a model's arguments are validated until they are right.

Only the imports differ from the article. Needs ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for another server.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, field_validator

from surehand import END, START, ChatAnthropic, StateGraph, ValidationNode, add_messages


# 定义一个 Pydantic 模型，要求字段 a 必须为 37
class SelectNumber(BaseModel):
    a: int

    @field_validator("a")
    def a_must_be_meaningful(cls, v):
        if v != 37:
            raise ValueError("Only 37 is allowed")
        return v


# 创建状态图，状态为消息列表
builder = StateGraph(Annotated[list, add_messages])

# 初始化语言模型并绑定工具
llm = ChatAnthropic(model="claude-3-5-haiku-latest").bind_tools([SelectNumber])
builder.add_node("model", llm)

# 添加 ValidationNode 节点
builder.add_node("validation", ValidationNode([SelectNumber]))

# 定义边：从 START 到 model 节点
builder.add_edge(START, "model")


# 条件边：根据 model 输出决定是否验证
def should_validate(state: list) -> Literal["validation", "__end__"]:
    if state[-1].tool_calls:  # 如果有工具调用，转到 validation
        return "validation"
    return END


builder.add_conditional_edges("model", should_validate)


# 条件边：根据验证结果决定是否重试
def should_reprompt(state: list) -> Literal["model", "__end__"]:
    for msg in state[::-1]:
        if msg.type == "ai":  # 找到最近的 AI 消息
            return END
        if msg.additional_kwargs.get("is_error"):  # 如果有错误，返回 model 重试
            return "model"
    return END


builder.add_conditional_edges("validation", should_reprompt)

# 编译并运行状态图
graph = builder.compile()
res = graph.invoke(("user", "Select a number, any number"))

# 输出结果
for msg in res:
    msg.pretty_print()
