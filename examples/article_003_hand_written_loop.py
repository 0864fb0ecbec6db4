"""Article 003, sections 2 and 4: the loop by hand.

``run_tool_calls`` and the steps of the loop are the article's; what is marked "completed" is ours, because the article
gives the loop in words. Needs an OpenAI-compatible server on port 11434, such as Ollama.
"""

from surehand import AIMessage, ChatOpenAI, HumanMessage, ToolMessage, tool


# completed: the tool and the model of the article's other program
@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


tools = [add]
model_with_tools = ChatOpenAI(
    model="qwen3.5:9b",
    api_key="ollama",
    base_url="http://localhost:11434/v1",
    temperature=0,
).bind_tools(tools)


def run_tool_calls(ai: AIMessage, tools):
    by_name = {t.name: t for t in tools}
    return [
        ToolMessage(
            content=str(by_name[c["name"]].invoke(c["args"])),
            tool_call_id=c["id"],
        )
        for c in ai.tool_calls
    ]


# completed: the article's seven steps in code
max_iterations = 10
messages = [HumanMessage("计算 2+3，必须用 add 工具。")]
for _ in range(max_iterations):
    ai = model_with_tools.invoke(messages)
    if not ai.tool_calls:
        print(ai.content)
        break
    tool_msgs = run_tool_calls(ai, tools)
    print([(message.content, message.tool_call_id) for message in tool_msgs])
    messages.extend([ai, *tool_msgs])
