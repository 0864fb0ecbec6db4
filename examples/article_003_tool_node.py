"""Article 003, section 4: model, ToolNode, model.

Only the imports differ from the article. Needs an OpenAI-compatible server on port 11434, such as Ollama.
"""

from surehand import ChatOpenAI, HumanMessage, ToolNode, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


model = ChatOpenAI(
    model="qwen3.5:9b",
    api_key="ollama",
    base_url="http://localhost:11434/v1",
    temperature=0,
).bind_tools([add])

ai = model.invoke([HumanMessage("计算 2+3，必须用 add 工具。")])
print(ai.tool_calls)
# 预期形态：name=add，args 含 a、b

tool_node = ToolNode([add])
out = tool_node.invoke({"messages": [ai]})
tool_msg = out["messages"][-1]
print(type(tool_msg).__name__, tool_msg.content, tool_msg.tool_call_id == ai.tool_calls[0]["id"])
# 预期：ToolMessage 5 True

final = model.invoke([HumanMessage("计算 2+3，必须用 add 工具。"), ai, tool_msg])
print(final.content)
# 预期形态：含 5
