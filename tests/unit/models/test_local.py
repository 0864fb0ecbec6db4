"""What can be said of the local model without weights; tests/local runs it with some."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from surehand import LocalModel, ModelError, OptionError
from surehand.models import Nudge
from surehand.models.local import template_for


def test_a_file_that_does_not_exist_is_refused_when_the_model_is_asked() -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    model = LocalModel("/no/such/file.gguf")
    with pytest.raises(OptionError, match="the path of a GGUF file that exists"):
        model.invoke("hi")


@pytest.mark.parametrize("option", ["context", "threads", "max_tokens"])
def test_a_number_below_one_is_refused(option: str) -> None:
    with pytest.raises(OptionError, match=option):
        LocalModel("a.gguf", **cast("dict[str, Any]", {option: 0}))


def test_a_template_that_is_no_template_is_refused() -> None:
    with pytest.raises(OptionError, match="'own', 'coder', a Path or None"):
        LocalModel("a.gguf", template="chatml")  # type: ignore[arg-type]  # what a host without a type checker may do


@pytest.mark.parametrize(
    ("file", "is_ours"), [("Qwen2.5-Coder-1.5B-Q4.gguf", True), ("qwen3-4b.gguf", False), ("smollm2.gguf", False)]
)
def test_our_template_is_for_the_family_that_needs_it(*, file: str, is_ours: bool) -> None:
    assert (template_for(Path(file), None) is not None) == is_ours


def test_a_template_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{{ messages }}", encoding="utf-8")
    assert template_for(Path("a.gguf"), file) == "{{ messages }}"
    assert template_for(Path("qwen2.5-coder.gguf"), "own") is None
    assert "<|im_start|>" in (template_for(Path("a.gguf"), "coder") or "")


def test_small_models_are_nudged_unless_told_otherwise() -> None:
    assert LocalModel("a.gguf").nudge == Nudge()
    assert LocalModel("a.gguf", nudge=None).nudge is None


def test_a_file_that_holds_no_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"broken\.gguf could not be loaded"):
        LocalModel(file).invoke("hi")
