"""Article 001, the full example: an agent whose tool says what is wrong with a call.

Only the imports differ from the article. Needs DEEPSEEK_API_KEY, or DEEPSEEK_BASE_URL for another server.
The article's prose says that the model is told of a ToolException, its printed output shows the exception coming
through; here the model is told, and ``create_agent(…, handle_tool_errors=False)`` gives the printed output.
"""

from surehand import HumanMessage, ToolException, create_agent, init_chat_model, tool


@tool
def book_course(user_name: str, course_name: str) -> str:
    """为用户预订菜鸟教程 RUNOOB 的课程。

    Args:
        user_name: 用户姓名
        course_name: 课程名称
    """
    # 校验用户是否存在
    valid_users = {"张三", "李四", "王五"}
    if user_name not in valid_users:
        raise ToolException(
            f"用户 '{user_name}' 不存在。"
            f"有效用户：{', '.join(sorted(valid_users))}"
        )

    # 校验课程是否存在
    valid_courses = {"Python3 基础教程", "HTML 基础教程", "Java 面向对象"}
    if course_name not in valid_courses:
        raise ToolException(
            f"课程 '{course_name}' 不存在。"
            f"有效课程：{', '.join(sorted(valid_courses))}"
        )

    return f"已为 {user_name} 成功预订《{course_name}》"


model = init_chat_model("deepseek:deepseek-v4-flash", temperature=0)
agent = create_agent(
    model=model,
    tools=[book_course],
    system_prompt="你是菜鸟教程 RUNOOB 的课程顾问。",
)

# 正常调用
result = agent.invoke({
    "messages": [HumanMessage(content="帮张三预订 Python3 基础教程")]
})
print(f"成功: {result['messages'][-1].content[:100]}")

# 错误调用：用户不存在
print(f"\n错误-用户不存在:")
try:
    result = agent.invoke({
        "messages": [HumanMessage(content="帮赵六预订 Python3 基础教程")]
    })
    for msg in result["messages"]:
        if msg.type == "tool":
            print(f"  [{msg.type}] {msg.content[:80]}")
        elif msg.type == "ai" and msg.content:
            print(f"  [{msg.type}] {msg.content[:100]}")
except ToolException as e:
    print(f"  [tool_error] {e}")
