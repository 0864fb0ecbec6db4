from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from support.provider_server import Served, provider_server
from surehand import ModelError, OptionError
from surehand.models import weights
from surehand.models.weights import Weights, find_weights

CONTENT = b"GGUF and so on"


def _publish(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, *, content: bytes = CONTENT) -> None:
    known = Weights(name="tiny", url=f"{url}/tiny.gguf", size=len(content), sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(weights.KNOWN_WEIGHTS, "tiny", known)
    monkeypatch.setenv("SUREHAND_CACHE", str(folder))


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "some.gguf"
    file.write_bytes(CONTENT)
    assert find_weights(str(file)) == file


def test_a_known_name_is_fetched_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with provider_server([Served(CONTENT)]) as server:
        _publish(monkeypatch, tmp_path, server.url)
        first, second = find_weights("tiny"), find_weights("Tiny")
    assert first == second == tmp_path / "tiny.gguf"
    assert first.read_bytes() == CONTENT
    assert server.paths == ["/tiny.gguf"]


def test_a_file_that_is_not_the_pinned_one_never_gets_into_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with provider_server([Served(b"something else")]) as server:
        _publish(monkeypatch, tmp_path, server.url)
        with pytest.raises(ModelError, match="is not the pinned one"):
            find_weights("tiny")
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_the_error_says_what_else_can_be_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _publish(monkeypatch, tmp_path, "http://127.0.0.1:1")
    with pytest.raises(ModelError, match=r"local:/path/to/model\.gguf"):
        find_weights("tiny")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_neither_file_nor_known_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"qwen2\.5-coder-1\.5b"):
        find_weights("no-such-model")


def test_the_pinned_files_come_from_their_makers() -> None:
    for known in weights.KNOWN_WEIGHTS.values():
        assert known.url.startswith("https://huggingface.co/Qwen/")
        assert len(known.sha256) == 64
