"""Optional packages: imported by the first call, and named when they are missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.programs import run_python
from surehand import ChatAnthropic, ChatOpenAI, LocalModel, MissingExtraError
from surehand.models import BaseChatModel, ChatGoogle


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [
        (ChatOpenAI("m", api_key="k"), "openai", "openai"),
        (ChatAnthropic("m", api_key="k"), "anthropic", "anthropic"),
        (LocalModel("m.gguf"), "xllamacpp", "local"),
        (ChatGoogle("m", api_key="k"), "google-genai", "google"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, model: BaseChatModel, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package.replace("-", "."), None)
    with pytest.raises(MissingExtraError, match=f"'surehand\\[{extra}\\]'") as caught:
        model.invoke("hi")
    assert caught.value.package == package


def test_a_missing_package_is_named_by_a_stream_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for model, package in ((ChatOpenAI("m", api_key="k"), "openai"), (ChatAnthropic("m", api_key="k"), "anthropic")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError):
            list(model.stream("hi"))


def test_building_models_imports_no_optional_package(tmp_path: Path) -> None:
    program = (
        "import sys, surehand\n"
        "for name in ('openai:m', 'anthropic:m', 'google:m', 'local:m.gguf'):\n"
        "    surehand.create_agent(name, [])\n"
        "print(sorted({'openai', 'anthropic', 'google.genai', 'xllamacpp', 'httpx'} & sys.modules.keys()))\n"
    )
    done = run_python("-c", program, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[]\n", "")
