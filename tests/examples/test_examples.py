"""Every program under examples/ runs and prints what its article, or its docstring, shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.programs import EXAMPLES, anthropic_reply, chat_reply, run_example
from support.provider_server import provider_server

FIRST = {"type": "tool_use", "id": "toolu_01JSjT9Pq8hGmTgmMPc6KnvM", "name": "SelectNumber", "input": {"a": 42}}
SECOND = {"type": "tool_use", "id": "toolu_01PkxSVxNxc5wqwCPW1FiSmV", "name": "SelectNumber", "input": {"a": 37}}


def test_article_000_validates_until_the_number_is_right() -> None:
    with provider_server([anthropic_reply([FIRST]), anthropic_reply([SECOND]), anthropic_reply([])]) as server:
        printed = run_example("article_000_validation.py", url=server.url)
    titles = [line.strip("= ") for line in printed.splitlines() if line.startswith("====")]
    assert titles == ["Human Message", "Ai Message", "Tool Message", "Ai Message", "Tool Message"]
    assert all(len(line) == 80 for line in printed.splitlines() if line.startswith("===="))
    assert "Select a number, any number" in printed
    assert "  SelectNumber (toolu_01JSjT9Pq8hGmTgmMPc6KnvM)" in printed
    assert "    a: 42" in printed
    assert "Only 37 is allowed" in printed
    assert "Respond after fixing all validation errors." in printed
    assert "    a: 37" in printed
    assert printed.rstrip().splitlines()[-1].replace(" ", "") == '{"a":37}'


def test_article_000_sends_the_schema_and_then_the_error_to_the_model() -> None:
    with provider_server([anthropic_reply([FIRST]), anthropic_reply([SECOND])]) as server:
        run_example("article_000_validation.py", url=server.url)
        first, second = server.requests
    assert first["model"] == "claude-3-5-haiku-latest"
    assert [tool["name"] for tool in first["tools"]] == ["SelectNumber"]
    [result] = second["messages"][-1]["content"]
    assert (result["type"], result["tool_use_id"], result["is_error"]) == ("tool_result", FIRST["id"], True)


RESULT = "搜索结果：Python3 基础教程、Python 数据分析、Python 爬虫入门"


def test_article_001_return_direct_ends_with_the_result_of_the_tool() -> None:
    summary = "菜鸟教程为您提供了以下 **Python 相关课程**"
    replies = [
        chat_reply(None, ("c1", "search_normal", {"keyword": "Python"})),
        chat_reply(summary),
        chat_reply(None, ("c2", "search_direct", {"keyword": "Python"})),
    ]
    with provider_server(replies) as server:
        printed = run_example("article_001_return_direct.py", url=server.url)
        assert len(server.requests) == 3
        assert server.requests[0]["model"] == "deepseek-v4-flash"
        assert server.requests[0]["temperature"] == 0
        assert server.requests[0]["messages"][0] == {"role": "system", "content": "你是菜鸟教程的学习顾问。"}
    assert (
        printed
        == f"=== 普通模式（模型会再加工）===\n{summary}\n\n=== 直接返回模式（工具结果即最终答案）===\n{RESULT}\n"
    )


def test_article_001_injects_the_call_id() -> None:
    assert run_example("article_001_injected_call_id.py") == (
        "content='操作已记录 (调用ID: manual_call_1): 用户查询了 Python 课程' "
        "name='log_user_action' tool_call_id='manual_call_1'\n"
    )


def test_article_001_raises_tool_exceptions_to_a_direct_caller() -> None:
    assert run_example("article_001_tool_exception.py").splitlines() == [
        "张三（VIP 会员，注册于 2024-01-15）",
        "工具异常: 用户 ID 必须为正整数，收到了: -1",
        "工具异常: 未找到 ID 为 999 的用户",
    ]


def test_article_001_tells_a_tools_error_as_its_result() -> None:
    assert run_example("article_001_handle_tool_errors.py") == (
        "handle_tool_errors=True: 未收录城市 '北境'。可使用城市：杭州, 北京, 上海。请使用中文城市全称。\n"
    )


COURSE = "Python3 基础教程"
UNKNOWN_USER = f"用户 '赵六' 不存在。有效用户：{', '.join(sorted({'张三', '李四', '王五'}))}"
BOOKED = "✅ **预订成功！** 以下是详细信息："
NOT_BOOKED = "没有名为赵六的用户。"


def agent_replies() -> list[dict[str, object]]:
    return [
        chat_reply(None, ("c1", "book_course", {"user_name": "张三", "course_name": COURSE})),
        chat_reply(BOOKED),
        chat_reply(None, ("c2", "book_course", {"user_name": "赵六", "course_name": COURSE})),
        chat_reply(NOT_BOOKED),
    ]


def test_article_001_agent_tells_the_model_what_is_wrong() -> None:
    with provider_server(agent_replies()) as server:
        printed = run_example("article_001_agent.py", url=server.url)
        assert server.requests[1]["messages"][-1]["content"] == f"已为 张三 成功预订《{COURSE}》"
    assert printed == (f"成功: {BOOKED}\n\n错误-用户不存在:\n  [tool] {UNKNOWN_USER[:80]}\n  [ai] {NOT_BOOKED}\n")


def test_article_001_agent_prints_the_articles_output_when_errors_are_let_out(tmp_path: Path) -> None:
    program = (EXAMPLES / "article_001_agent.py").read_text(encoding="utf-8")
    changed = program.replace("    tools=[book_course],\n", "    tools=[book_course],\n    handle_tool_errors=False,\n")
    (tmp_path / "agent.py").write_text(changed, encoding="utf-8")
    with provider_server(agent_replies()) as server:
        printed = run_example("agent.py", folder=tmp_path, url=server.url)
    assert printed == f"成功: {BOOKED}\n\n错误-用户不存在:\n  [tool_error] {UNKNOWN_USER}\n"


def test_article_002_user_profile_is_validated_against_its_schema() -> None:
    lines = run_example("article_002_user_profile.py").splitlines()
    assert lines[0] == 'call_1 success: {"user_id": "U123", "history": ["login", "order"]}'
    assert lines[1] == 'call_2 success: {"user_id": "U123", "history": []}'
    assert lines[2].startswith("call_3 error: ")
    assert "user_id" in " ".join(lines[2:])


def test_article_002_payment_is_retried_on_the_authors_word() -> None:
    assert run_example("article_002_payment.py").splitlines() == [
        "success after 2 attempt(s): Payment succeeded: T-U123",
        "error after 1 attempt(s): Payment failed: amount above the limit",
    ]


def test_article_002_search_receives_the_model_and_reports_every_broken_rule() -> None:
    printed = run_example("article_002_search.py")
    lines = printed.splitlines()
    assert lines[:2] == ["search call_abc123 success", '{"results": [{"id": "R1", "title": "LangGraph Guide"}]}']
    assert lines[2] == "search call_def456 success"
    assert lines[4] == "search call_ghi789 error"
    assert "$.query" in printed
    assert "$.limit" in printed


def test_article_002_send_email_names_the_missing_field_and_runs_with_a_default() -> None:
    printed = run_example("article_002_send_email.py")
    assert printed.startswith("error: ")
    assert "$.body" in printed or "body" in printed
    assert printed.splitlines()[-1] == "success: Sent 'Hello' to user@example.com, 0 characters."


def test_article_002_report_is_serialised_with_and_without_the_authors_care() -> None:
    careful, careless = run_example("article_002_report.py").splitlines()
    assert json.loads(careful.partition(": ")[2])["balance"] == "123.45"
    told = json.loads(careless.partition(": ")[2])
    assert told["user_id"] == "U123"
    assert str(told["balance"]) == "123.45"
    assert str(told["as_of"]).startswith("2024-01-15")


def test_article_002_function_nodes_take_and_give_state() -> None:
    assert run_example("article_002_function_node.py").splitlines() == [
        "{'profile': {'id': 'U123', 'history': []}}",
        "Beijing {'result': {'temperature': 23, 'condition': 'sunny'}}",
        "Busy {'error': 'Rate limited', 'retryable': True}",
        "Nowhere {'error': 'HTTP 404', 'retryable': False}",
        "Atlantis {'error': 'API timeout', 'retryable': True}",
    ]


def at_port_of(name: str, url: str, folder: Path) -> str:
    """Put a copy of the program into the folder, with the port of the test's server in place of Ollama's."""
    program = (EXAMPLES / name).read_text(encoding="utf-8")
    assert "http://localhost:11434" in program
    (folder / name).write_text(program.replace("http://localhost:11434", url), encoding="utf-8")
    return name


def test_article_003_tool_node_adds_and_the_model_answers(tmp_path: Path) -> None:
    replies = [chat_reply(None, ("1", "add", {"a": 2, "b": 3})), chat_reply("2+3=5")]
    with provider_server(replies) as server:
        name = at_port_of("article_003_tool_node.py", server.url, tmp_path)
        calls, answer, final = run_example(name, folder=tmp_path).splitlines()
        assert server.requests[0]["model"] == "qwen3.5:9b"
        assert server.requests[1]["messages"][-1] == {"role": "tool", "tool_call_id": "1", "content": "5"}
    assert "'name': 'add'" in calls
    assert "'args': {'a': 2, 'b': 3}" in calls
    assert answer == "ToolMessage 5 True"
    assert final == "2+3=5"


def test_article_003_loop_by_hand_ends_with_the_models_answer(tmp_path: Path) -> None:
    replies = [chat_reply(None, ("1", "add", {"a": 2, "b": 3})), chat_reply("2+3=5")]
    with provider_server(replies) as server:
        name = at_port_of("article_003_hand_written_loop.py", server.url, tmp_path)
        assert run_example(name, folder=tmp_path).splitlines() == ["[('5', '1')]", "2+3=5"]


def test_parallel_calls_take_as_long_as_the_slowest() -> None:
    *answers, total = run_example("parallel_calls.py").splitlines()
    assert [line.split()[0] for line in answers] == ["a", "b", "c", "d"]
    took = float(re.findall(r"[\d.]+", total)[-1])
    assert took < 1


def test_retries_needs_the_authors_word() -> None:
    lines = run_example("retries.py").splitlines()
    assert lines[0] == "exchange_rate: success, 3 attempt(s): 1.08"
    assert lines[1].startswith("transfer: error, 1 attempt(s): ")
    assert "ConnectionError" in lines[1]


def test_raw_openai_payloads_are_answered_in_kind() -> None:
    printed = run_example("raw_openai_payload.py")
    first, _, rest = printed.partition("\n}\n")
    answers = [json.loads(f"{first}\n}}"), json.loads(rest)]
    assert [answer["role"] for answer in answers] == ["tool", "tool"]
    assert [answer["tool_call_id"] for answer in answers] == ["call_1", "call_2"]
    assert json.loads(answers[0]["content"]) == {"city": "Beijing", "days": 3, "sky": "sunny"}
    assert "cut off" in answers[1]["content"]


def test_a_graph_mixes_tools_and_functions() -> None:
    printed = run_example("graph_with_function_node.py")
    assert printed.startswith("order_id: 4711\n")
    assert "Order 4711 is on its way." in printed
    assert printed.rstrip().endswith("It is on its way.")


def test_every_example_has_a_test() -> None:
    tested = set(re.findall(r'"(\w+\.py)"', Path(__file__).read_text(encoding="utf-8")))
    assert {path.name for path in EXAMPLES.glob("*.py")} <= tested


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_is_listed(path: Path) -> None:
    listing = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    family = re.sub(r"^(article_00[123])_.*", r"\1_*", path.stem)
    assert f"`{path.name}`" in listing or f"`{family}.py`" in listing
