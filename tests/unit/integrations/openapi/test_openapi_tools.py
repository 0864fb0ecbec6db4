"""Tools of a document, against a server that remembers what it was sent."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

from support.pet_server import PNG, PetServer, pet_server, pets_document
from surehand.errors import InvalidArguments, ModelRetry, OptionError
from surehand.integrations.openapi import RequestFailed, openapi_tools
from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode
from surehand.policy import RetryPolicy
from surehand.tools import Tool

KEY = "k-secret-12345"
AUTH: dict[str, Any] = {
    "key": KEY,
    "query_key": "q-secret-12345",
    "session": "s-secret-12345",
    "bearer": "b-secret-12345",
    "basic": ("ann", "p-secret-12345"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[PetServer]:
    with pet_server() as shop:
        yield shop


@pytest.fixture
def shop(server: PetServer) -> PetServer:
    server.sent.clear()
    server.answers.clear()
    return server


def tools_of(shop: PetServer, **options: Any) -> dict[str, Tool]:
    given: dict[str, Any] = {"base_url": shop.url, "auth": AUTH, **options}
    return {tool.name: tool for tool in openapi_tools(pets_document(), **given)}


def answered(tools: dict[str, Tool], tool: str, /, **arguments: Any) -> ToolMessage:
    node = ToolNode(list(tools.values()), retry=RetryPolicy(max_attempts=3, initial_interval=0.01))
    [answer] = node.invoke([AIMessage(tool_calls=[{"id": "c1", "name": tool, "args": arguments}])])
    assert isinstance(answer, ToolMessage)
    return answer


# -- the tools -------------------------------------------------------------------------------------------------------


def test_there_is_one_tool_for_each_operation_named_by_its_id_or_by_method_and_path(shop: PetServer) -> None:
    assert list(tools_of(shop)) == [
        *("listPets", "createPet", "getPet", "put_pets_id", "deletePet", "checkPet", "getPhoto", "addPhoto", "login"),
        *("setNote", "addNotes", "fail", "failPost", "echo"),
    ]


def test_a_tool_says_what_the_document_says(shop: PetServer) -> None:
    tool = tools_of(shop)["listPets"]
    assert tool.description == "List the pets of the shop.\n\nNewest first."
    assert tool.args["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "description": "The most pets. Default: 20.",
    }
    assert list(tool.args) == ["limit", "tags", "filter", "sort_by", "X-Trace"]


def test_methods_say_whether_a_call_may_run_again(shop: PetServer) -> None:
    def hints(name: str) -> tuple[bool, bool, bool]:
        options = tools[name].spec.options
        return options.read_only is True, options.idempotent is True, options.destructive is True

    tools = tools_of(shop)
    assert hints("listPets") == hints("checkPet") == (True, False, False)
    assert hints("put_pets_id") == (False, True, False)
    assert hints("deletePet") == (False, True, True)
    assert hints("addNotes") == (False, False, False)
    assert hints("createPet") == (False, True, False)  # it declares an Idempotency-Key


def test_a_body_is_told_property_by_property_without_what_the_server_sets(shop: PetServer) -> None:
    schema = tools_of(shop)["createPet"].spec.schema.json_schema
    assert list(schema["properties"]) == ["name", "kind", "weight", "parent"]
    assert schema["required"] == ["name", "kind"]
    assert schema["properties"]["weight"] == {"type": ["number", "null"], "exclusiveMinimum": 0}
    assert schema["properties"]["kind"] == {"$ref": "#/$defs/Kind"}
    assert set(schema["$defs"]) == {"Kind", "NewPet"}


def test_a_name_that_two_places_have_gets_its_place_in_front(shop: PetServer) -> None:
    assert list(tools_of(shop)["put_pets_id"].args) == ["id", "name", "kind", "weight", "parent", "body_id"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"include": ["list*", "getPet"]}, ["listPets", "getPet"]),
        ({"include": ["tag:pets"], "exclude": ["createPet"]}, ["listPets", "getPet"]),
        ({"include": ["/notes"]}, ["setNote", "addNotes"]),
        ({"include": ["GET /pets*"]}, ["listPets", "getPet", "getPhoto"]),
        ({"include": ["DELETE"]}, ["deletePet"]),
        ({"include": ["getPet"], "prefix": "shop"}, ["shop_getPet"]),
    ],
)
def test_operations_are_chosen_by_patterns(shop: PetServer, options: dict[str, Any], names: list[str]) -> None:
    assert list(tools_of(shop, **options)) == names


def test_a_pattern_that_matches_nothing_is_a_slip_and_said(shop: PetServer) -> None:
    with pytest.raises(OptionError, match="Did you mean 'getPet'"):
        tools_of(shop, include=["getPets"])
    with pytest.raises(OptionError, match="a list of patterns"):
        tools_of(shop, include="getPet")


def test_options_go_before_what_the_method_says(shop: PetServer) -> None:
    options = tools_of(shop, include=["getPet"], read_only=False, timeout=5)["getPet"].spec.options
    assert (options.read_only, options.timeout) == (False, 5)


# -- requests --------------------------------------------------------------------------------------------------------


def test_parameters_go_where_they_belong_in_their_style(shop: PetServer) -> None:
    result = tools_of(shop)["listPets"].invoke(
        {
            "tags": ["a b", "c,d"],
            "filter": {"color": "red&blue", "age": {"min": 2}},
            "sort_by": "name",
            "X-Trace": "t1",
        }
    )
    assert result["path"] == "/v1/pets"
    assert shop.last.query == "tags=a%20b,c%2Cd&filter[color]=red%26blue&filter[age][min]=2&sort[by]=name"
    assert shop.last.headers["x-trace"] == "t1"


def test_headers_cookies_pipes_and_json_are_written_as_the_document_says(shop: PetServer) -> None:
    tools_of(shop)["echo"].invoke({"X-Ids": [1, 2], "theme": "dark", "pipes": ["a", "b|c"], "json": {"a": 1}})
    assert shop.last.headers["x-ids"] == "1,2"
    assert shop.last.headers["cookie"] == "theme=dark; sid=s-secret-12345"
    assert shop.last.query == "pipes=a%7Cb%7Cc&json=%7B%22a%22%3A1%7D"


def test_what_is_left_out_is_not_sent_not_even_a_default(shop: PetServer) -> None:
    tools_of(shop)["listPets"].invoke({})
    assert shop.last.query == ""


def test_nothing_in_an_argument_leads_out_of_its_place_in_the_path(shop: PetServer) -> None:
    tool = tools_of(shop)["getPet"]
    tool.invoke({"id": "a/../b?c#d"})
    assert shop.last.path == "/v1/pets/a%2F..%2Fb%3Fc%23d"
    for escaping in ("..", ".", ""):
        with pytest.raises(ModelRetry):
            tool.invoke({"id": escaping})
    assert len(shop.sent) == 1


def test_a_header_takes_no_line_break(shop: PetServer) -> None:
    with pytest.raises(ModelRetry, match="line breaks"):
        tools_of(shop)["listPets"].invoke({"X-Trace": "a\r\nX-Admin: 1"})
    assert shop.sent == []


def test_a_json_body_is_made_of_its_arguments(shop: PetServer) -> None:
    tools_of(shop)["put_pets_id"].invoke({"id": "7", "body_id": 8, "name": "Réx", "kind": "dog", "weight": None})
    assert shop.last.path == "/v1/pets/7"
    assert json.loads(shop.last.body) == {"id": 8, "name": "Réx", "kind": "dog", "weight": None}
    assert shop.last.headers["content-type"] == "application/json"


def test_a_body_that_is_no_object_is_one_argument(shop: PetServer) -> None:
    tools = tools_of(shop)
    tools["addNotes"].invoke({"body": [{"text": "a", "about": {"text": "b"}}]})
    assert json.loads(shop.last.body) == [{"text": "a", "about": {"text": "b"}}]
    tools["setNote"].invoke({"body": "plain"})
    assert (shop.last.body, shop.last.headers["content-type"]) == (b"plain", "text/plain")


def test_a_form_is_sent_as_a_form(shop: PetServer) -> None:
    tools_of(shop)["login"].invoke({"name": "a&b", "scopes": ["x", "y"]})
    assert parse_qsl(shop.last.body.decode()) == [("name", "a&b"), ("scopes", "x"), ("scopes", "y")]
    assert shop.last.headers["content-type"] == "application/x-www-form-urlencoded"


def test_a_file_is_given_as_base64_and_sent_as_bytes(shop: PetServer) -> None:
    tool = tools_of(shop)["addPhoto"]
    assert tool.args["file"]["description"] == "The picture. As base64."
    tool.invoke({"id": "7", "file": base64.b64encode(PNG).decode(), "caption": "Rex", "place": {"x": 1}})
    assert shop.last.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert PNG in shop.last.body
    assert b"image/png" in shop.last.body
    assert b'name="caption"\r\n\r\nRex' in shop.last.body
    assert b'{"x":1}' in shop.last.body
    with pytest.raises(ModelRetry, match="base64"):
        tool.invoke({"id": "7", "file": "not base64!"})


def test_the_idempotency_key_is_the_calls_and_the_same_at_each_attempt(shop: PetServer) -> None:
    tools = tools_of(shop)
    assert "Idempotency-Key" not in tools["createPet"].args
    shop.answers.append((503, {}, b""))
    assert answered(tools, "createPet", name="Rex", kind="dog").status == "success"
    first, second = (sent.headers["idempotency-key"] for sent in shop.sent)
    assert first == second
    assert first


def test_arguments_are_validated_before_anything_is_sent(shop: PetServer) -> None:
    tools = tools_of(shop)
    with pytest.raises(InvalidArguments, match="weight"):
        tools["createPet"].invoke({"name": "Rex", "kind": "dog", "weight": 0})
    with pytest.raises(InvalidArguments, match="kind"):
        tools["createPet"].invoke({"name": "Rex", "kind": "bird"})
    assert shop.sent == []


# -- credentials -----------------------------------------------------------------------------------------------------


def test_each_operation_gets_the_credentials_that_it_names(shop: PetServer) -> None:
    tools = tools_of(shop)
    tools["listPets"].invoke({})
    assert shop.last.headers["x-api-key"] == KEY
    tools["addNotes"].invoke({"body": []})
    assert shop.last.headers["authorization"] == "Bearer b-secret-12345"
    tools["deletePet"].invoke({"id": "7"})
    assert shop.last.headers["authorization"] == "Basic " + base64.b64encode(b"ann:p-secret-12345").decode()
    tools["login"].invoke({"name": "ann"})
    assert not {"authorization", "x-api-key"} & shop.last.headers.keys()


def test_the_first_alternative_that_the_host_can_meet_is_taken(shop: PetServer) -> None:
    tools_of(shop, auth={"query_key": "q-secret-12345"})["echo"].invoke({})
    assert shop.last.query == "api_key=q-secret-12345"


def test_a_credential_may_be_made_anew_for_each_request(shop: PetServer) -> None:
    tokens = iter(["first-token", "second-token"])

    async def token() -> str:
        return next(tokens)

    tool = tools_of(shop, auth={"bearer": token})["addNotes"]
    tool.invoke({"body": []})
    tool.invoke({"body": []})
    assert [sent.headers["authorization"] for sent in shop.sent] == ["Bearer first-token", "Bearer second-token"]


def test_no_model_sees_a_credential_not_even_in_what_the_server_sends_back(shop: PetServer) -> None:
    tools = tools_of(shop)
    told = json.dumps([tool.to_openai() for tool in tools.values()])
    echoed = answered(tools, "echo")
    shop.answers.append((401, {"content-type": "text/plain"}, f"bad key {KEY}".encode()))
    refused = answered(tools, "listPets")
    assert refused.status == "error"
    for text in (told, str(echoed.content), str(refused.content)):
        assert "secret-12345" not in text
    assert "[redacted]" in str(echoed.content)


def test_a_credential_with_a_line_break_is_refused_without_being_shown(shop: PetServer) -> None:
    tool = tools_of(shop, auth={"key": "k-secret-12345\n"})["listPets"]
    with pytest.raises(OptionError, match="line breaks") as caught:
        tool.invoke({})
    assert "secret" not in str(caught.value)
    assert shop.sent == []


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        ({"keys": "x"}, "Did you mean 'key'"),
        ({"basic": "x"}, "pair of name and password"),
        ({"key": ("a", "b")}, "text"),
    ],
)
def test_credentials_that_cannot_be_meant_are_refused(shop: PetServer, auth: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        tools_of(shop, auth=auth)


def test_headers_of_the_host_go_with_every_request_and_are_not_the_models(shop: PetServer) -> None:
    tool = tools_of(shop, headers={"X-Trace": "host"})["listPets"]
    assert "X-Trace" not in tool.args
    tool.invoke({})
    assert shop.last.headers["x-trace"] == "host"


# -- answers ---------------------------------------------------------------------------------------------------------


def test_json_is_data_text_is_text_and_nothing_is_said_in_words(shop: PetServer) -> None:
    tools = tools_of(shop)
    shop.answers += [
        (200, {"content-type": "application/vnd.pets+json"}, b'[{"id": 1}]'),
        (200, {"content-type": "text/plain; charset=latin-1"}, "é".encode("latin-1")),
        (200, {"content-type": "application/json"}, b"{broken"),
    ]
    assert [tools["listPets"].invoke({}) for _ in range(3)] == [[{"id": 1}], "é", "{broken"]
    assert tools["deletePet"].invoke({"id": "7"}) == "Done: HTTP 204 No Content, without a body."
    assert tools["checkPet"].invoke({"id": "7"})["status"] == 200


def test_an_image_is_a_block_and_other_bytes_are_an_artifact(shop: PetServer) -> None:
    tools = tools_of(shop)
    photo = answered(tools, "getPhoto", id="7")
    assert photo.content == [{"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"}]
    assert photo.artifact == PNG
    shop.answers.append((200, {"content-type": "application/pdf"}, b"%PDF-\x00"))
    paper = answered(tools, "listPets")
    assert (paper.content, paper.artifact) == ("6 bytes of application/pdf, kept as the artifact.", b"%PDF-\x00")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "No such pet.", "code": 7}}', "HTTP 404 Not Found: No such pet."),
        (b'{"title": "Gone", "detail": "Pet 7 was sold."}', "HTTP 404 Not Found: Pet 7 was sold."),
        (b'{"detail": [{"loc": ["q"], "msg": "too long"}]}', "HTTP 404 Not Found: too long"),
        (b'{"message": "Invalid", "errors": {"name": ["blank"]}}', 'HTTP 404 Not Found: Invalid: {"name":["blank"]}'),
        (b"plain words", "HTTP 404 Not Found: plain words"),
        (b"<html>a page</html>", "HTTP 404 Not Found."),
        (b"", "HTTP 404 Not Found."),
    ],
)
def test_an_error_is_told_in_the_servers_own_words(shop: PetServer, body: bytes, words: str) -> None:
    shop.answers.append((404, {"content-type": "application/json"}, body))
    with pytest.raises(RequestFailed) as caught:
        tools_of(shop)["getPet"].invoke({"id": "7"})
    assert (str(caught.value), caught.value.status_code) == (words, 404)


def test_a_redirect_is_not_followed(shop: PetServer) -> None:
    shop.answers.append((302, {"location": "http://127.0.0.1:9/steal"}, b""))
    with pytest.raises(RequestFailed, match="redirects are not followed"):
        tools_of(shop)["listPets"].invoke({})


def test_what_passes_is_asked_again_where_that_is_safe(shop: PetServer) -> None:
    tools = tools_of(shop)
    shop.answers += [(503, {}, b""), (429, {"retry-after": "0.01"}, b"")]
    assert answered(tools, "listPets").status == "success"
    assert len(shop.sent) == 3


def test_what_may_have_happened_is_not_asked_again(shop: PetServer) -> None:
    answer = answered(tools_of(shop), "failPost", code=503)
    assert answer.status == "error"
    assert "HTTP 503" in str(answer.content)
    assert len(shop.sent) == 1


def test_what_would_be_the_same_again_is_not_asked_again(shop: PetServer) -> None:
    assert answered(tools_of(shop), "fail", code=404).status == "error"
    assert len(shop.sent) == 1


def test_the_wait_that_a_server_asks_for_is_kept(shop: PetServer) -> None:
    shop.answers.append((503, {"retry-after": "0.3"}, b""))
    answer = answered(tools_of(shop), "listPets")
    assert answer.outcome is not None
    assert answer.outcome.duration_s >= 0.3


def test_an_answer_that_is_too_long_is_a_failure(shop: PetServer) -> None:
    shop.answers.append((200, {"content-type": "text/plain"}, b"x" * 2_000))
    answer = answered(tools_of(shop, max_bytes=1_000), "listPets")
    assert (answer.status, "longer than 1,000 bytes" in str(answer.content)) == ("error", True)


# -- clients and loops -----------------------------------------------------------------------------------------------


def test_a_client_of_the_hosts_is_used_and_stays_open(shop: PetServer) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(base_url=shop.url, headers={"X-Mine": "1"}) as client:
            (tool,) = openapi_tools(pets_document(), client=client, include=["getPet"])
            await tool.ainvoke({"id": "7"})
            assert not client.is_closed

    asyncio.run(run())
    assert (shop.last.path, shop.last.headers["x-mine"]) == ("/v1/pets/7", "1")


def test_one_tool_serves_several_loops_and_many_calls_at_once(shop: PetServer) -> None:
    tool = tools_of(shop)["getPet"]

    async def many() -> list[Any]:
        return [await task for task in [asyncio.ensure_future(tool.ainvoke({"id": f"{n}"})) for n in range(20)]]

    for _ in range(2):
        assert [result["path"] for result in asyncio.run(many())] == [f"/v1/pets/{n}" for n in range(20)]
    assert tool.invoke({"id": "7"})["path"] == "/v1/pets/7"


def test_cookies_that_a_server_sets_are_not_kept_for_the_next_call(shop: PetServer) -> None:
    tool = tools_of(shop)["listPets"]
    shop.answers.append((200, {"set-cookie": "session=of-somebody"}, b"{}"))
    tool.invoke({})
    tool.invoke({})
    assert "cookie" not in shop.last.headers


def test_a_server_that_is_not_there_is_a_failure_that_passes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    tools = {tool.name: tool for tool in openapi_tools(pets_document(), base_url="http://127.0.0.1:9", auth=AUTH)}
    answer = answered(tools, "listPets")
    assert answer.outcome is not None
    assert (answer.status, answer.outcome.attempts) == ("error", 3)


def test_the_documents_own_server_is_asked_where_nobody_says_another(shop: PetServer) -> None:
    asked: list[str] = []

    def record(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={})

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(record)) as client:
            (tool,) = openapi_tools(pets_document(), client=client, include=["getPet"])
            await tool.ainvoke({"id": "7"})

    asyncio.run(run())
    assert asked == ["https://eu.pets.example/v1/pets/7"]
