from __future__ import annotations

import pytest

from support.command import surehand


def test_a_model_without_a_key_is_one_clear_line(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    ended = surehand("run", shop, "--model", "openai:gpt-4o-mini", "hello")
    assert ended.code == 2
    assert ended.err.startswith("surehand: ")
    assert "OPENAI_API_KEY" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("command", [("run", "shop.py", "hello"), ("demo",)])
def test_an_unknown_provider_is_one_clear_line(shop: str, command: tuple[str, ...]) -> None:
    ended = surehand(*command, "--model", "nobody:nothing")
    assert ended.code == 2
    assert "nobody" in ended.err
    assert ended.err.count("\n") == 1


def test_a_local_model_that_is_not_there_is_one_clear_line(shop: str) -> None:
    ended = surehand("demo", "--model", "local:/nowhere/model.gguf")
    assert ended.code == 2
    assert ended.err.count("\n") == 1


def test_a_live_demo_has_no_json_form() -> None:
    ended = surehand("demo", "--model", "local", "--json")
    assert ended.code == 2
    assert "--json" in ended.err
