"""Article 001, handle_tool_errors: a tool that answers its own errors. Only the imports differ from the article."""

from surehand import HumanMessage, ToolException, create_agent, init_chat_model, tool


@tool
def get_weather(city: str) -> str:
    """查询指定城市的天气。

    Args:
        city: 城市名称，必须是中文全称，如 "杭州"、"北京"
    """
    weather_data = {
        "杭州": "晴，25°C",
        "北京": "多云，18°C",
        "上海": "小雨，22°C",
    }
    if city not in weather_data:
        # 城市不在数据中时抛出 ToolException
        raise ToolException(
            f"未收录城市 '{city}'。"
            f"可使用城市：{', '.join(weather_data.keys())}。"
            f"请使用中文城市全称。"
        )
    return f"{city}天气：{weather_data[city]}"


model = init_chat_model("deepseek:deepseek-v4-flash", temperature=0)

# 在不使用 Agent 时，也可以直接用 handle_tool_errors 控制行为
# 方式 1：返回错误信息字符串（模型能看到并修正）
tool_with_feedback = get_weather.with_config(
    handle_tool_errors=True  # 捕获异常并返回错误信息给模型
)

# 方式 2：直接抛出异常（Agent 终止）
tool_without_feedback = get_weather.with_config(
    handle_tool_errors=False  # 异常直接上抛
)

# 测试：用错误城市名调用
# handle_tool_errors=True 时，错误信息会返回给模型
result = tool_with_feedback.invoke({"city": "北境"})
print(f"handle_tool_errors=True: {result}")
