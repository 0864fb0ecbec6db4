from __future__ import annotations

from typing import Any, cast

import pytest

from surehand import ChatAnthropic, ChatOpenAI, LocalModel, OptionError, init_chat_model
from surehand.models import ChatGoogle


@pytest.mark.parametrize(
    ("name", "kind", "model"),
    [
        ("openai:gpt-4o", ChatOpenAI, "gpt-4o"),
        ("anthropic:claude-sonnet-4-5", ChatAnthropic, "claude-sonnet-4-5"),
        ("deepseek:deepseek-v4-flash", ChatOpenAI, "deepseek-v4-flash"),
        ("google:gemini-3-flash-preview", ChatGoogle, "gemini-3-flash-preview"),
        ("ollama:qwen3.5:9b", ChatOpenAI, "qwen3.5:9b"),
        ("local:/models/a.gguf", LocalModel, "/models/a.gguf"),
        ("gpt-4o-mini", ChatOpenAI, "gpt-4o-mini"),
        ("o3-mini", ChatOpenAI, "o3-mini"),
        ("ft:gpt-4o:acme", ChatOpenAI, "ft:gpt-4o:acme"),
        ("claude-haiku-4-5", ChatAnthropic, "claude-haiku-4-5"),
        ("deepseek-chat", ChatOpenAI, "deepseek-chat"),
        ("gemini-3-flash-preview", ChatGoogle, "gemini-3-flash-preview"),
    ],
)
def test_a_name_says_which_model_is_meant(name: str, kind: type, model: str) -> None:
    chat = init_chat_model(name)
    assert isinstance(chat, kind)
    assert getattr(chat, "model", None) == model


def test_a_provider_given_apart_leaves_the_name_as_it_is() -> None:
    chat = init_chat_model("qwen3.5:9b", model_provider="ollama")
    assert getattr(chat, "model", None) == "qwen3.5:9b"


@pytest.mark.parametrize("name", ["mistral:large", "qwen3.5:9b", "openai:", ""])
def test_an_unknown_provider_is_refused_with_the_known_ones_and_the_way_round(name: str) -> None:
    with pytest.raises(OptionError, match="anthropic, deepseek, google, local, ollama, openai") as caught:
        init_chat_model(name)
    assert "base_url" in str(caught.value)


def test_building_a_model_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)

    assert isinstance(init_chat_model("deepseek:deepseek-v4-flash", temperature=0), ChatOpenAI)
    assert isinstance(init_chat_model("anthropic:claude-sonnet-4-5"), ChatAnthropic)


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^model=5"):
        init_chat_model(cast("str", 5))


@pytest.mark.parametrize("name", ["openai:m", "anthropic:m", "google:m"])
@pytest.mark.parametrize(
    "options",
    [
        {"temperature": "hot"},
        {"temperature": float("nan")},
        {"max_tokens": 0},
        {"timeout": 0},
        {"timeout": "soon"},
        {"max_retries": -1},
        {"base_url": 5},
        {"base_url": "host:8000"},
    ],
)
def test_an_option_that_no_provider_can_take_is_refused_by_name(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"^{next(iter(options))}="):
        init_chat_model(name, **options)
