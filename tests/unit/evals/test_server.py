"""The desk counts what a run asks, and stops it when it asks too much."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from evals.server import MAX_REQUESTS, Desk, served

from support.scripted_brain import ScriptedBrain, call

BODY: dict[str, Any] = {"model": "local", "messages": [{"role": "user", "content": "Go."}]}


def test_requests_and_calls_are_counted_for_each_run() -> None:
    desk = Desk(ScriptedBrain([call("f"), "Done."]), "plain")
    log, other = desk.open("a"), desk.open("b")

    desk.answer("a", BODY)
    desk.answer("a", BODY)

    assert (log.requests, log.calls) == (2, 1)
    assert (other.requests, other.calls) == (0, 0)


def test_the_conversation_is_kept_with_the_reply() -> None:
    desk = Desk(ScriptedBrain(["Done."]), "plain")
    log = desk.open("a")

    desk.answer("a", BODY)

    assert [message["content"] for message in log.messages] == ["Go.", "Done."]


def test_the_first_request_of_a_run_starts_afresh() -> None:
    brain = ScriptedBrain(["Done."])
    desk = Desk(brain, "plain")

    for run in ("a", "b"):
        desk.open(run)
        desk.answer(run, BODY)
        desk.answer(run, BODY)

    assert brain.firsts == [True, False, True, False]


def test_a_run_that_asks_too_often_is_stopped() -> None:
    desk = Desk(ScriptedBrain(["Done."]), "plain")
    log = desk.open("a")

    statuses = [desk.answer("a", BODY)[0] for _ in range(MAX_REQUESTS + 1)]

    assert statuses == [200] * MAX_REQUESTS + [400]
    assert log.is_exhausted
    assert log.requests == MAX_REQUESTS


def test_what_the_engine_refuses_is_refused() -> None:
    class Full:
        def answer(self, asked: dict[str, Any], *, is_first: bool) -> dict[str, Any]:
            return {"error": {"message": "exceeds the context size"}}

    desk = Desk(Full(), "plain")
    desk.open("a")

    status, answer = desk.answer("a", BODY)

    assert status == 400
    assert "context size" in answer["error"]["message"]


def test_streams_are_refused() -> None:
    desk = Desk(ScriptedBrain(["Done."]), "plain")
    desk.open("a")

    assert desk.answer("a", {**BODY, "stream": True})[0] == 400


def test_an_unknown_run_is_refused() -> None:
    assert Desk(ScriptedBrain(["Done."]), "plain").answer("a", BODY)[0] == 404


def test_runs_are_told_apart_by_the_address() -> None:
    desk = Desk(ScriptedBrain(["Done."]), "plain")
    log = desk.open("a")

    with served(desk) as url:
        assert post(f"{url}/a/v1/chat/completions")["choices"][0]["message"]["content"] == "Done."
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            post(f"{url}/a/v1/embeddings")
        refused.value.close()

    assert log.requests == 1


def post(url: str) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(BODY).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        read: dict[str, Any] = json.loads(answer.read())
    return read
