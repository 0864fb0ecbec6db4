from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict

from surehand.arguments import validate_arguments
from surehand.errors import ToolDefinitionError
from surehand.policy import ToolOptions
from surehand.spec import ToolSpec, schema_of, spec_from_function


class SearchArgs(BaseModel):
    query: str = Field(min_length=1)
    limit: int = Field(default=10, ge=1, le=100)


@dataclass
class Pair:
    x: int


class PairDict(TypedDict):
    x: int


def run(spec: ToolSpec, arguments: dict[str, Any]) -> Any:
    return spec.body.call(validate_arguments(spec.schema, arguments, tool=spec.name).values, {})


def test_everything_about_a_function_is_read() -> None:
    def search(query: str) -> str:
        """Search the web."""
        return query

    spec = spec_from_function(search, tags=("web",), metadata={"owner": "me"}, return_direct=True)

    assert (spec.name, spec.description, spec.tags, spec.return_direct) == ("search", "Search the web.", ("web",), True)
    assert spec.options == ToolOptions()
    assert not spec.body.is_async


def test_name_and_description_can_be_given() -> None:
    spec = spec_from_function(len, name="echo", description="  Say it again.  ")

    assert (spec.name, spec.description) == ("echo", "Say it again.")


def test_no_docstring_is_an_empty_description() -> None:
    def tool() -> None: ...

    assert spec_from_function(tool).description == ""


def test_a_callable_object_is_described_by_its_class_and_its_call() -> None:
    class Searcher:
        """Searches."""

        def __call__(self, query: str) -> str:
            """Not this.

            Args:
                query: What.
            """
            return query

    spec = spec_from_function(Searcher())

    assert (spec.name, spec.description) == ("searcher", "Searches.")
    assert spec.schema.json_schema["properties"]["query"]["description"] == "What."


def test_one_parameter_annotated_with_the_model_gets_the_instance() -> None:
    def _run(args: SearchArgs) -> SearchArgs:
        return args

    spec = spec_from_function(_run, name="search", args_schema=SearchArgs)

    assert run(spec, {"query": "a", "limit": "3"}) == SearchArgs(query="a", limit=3)


@pytest.mark.parametrize("kind", [Pair, PairDict])
def test_one_parameter_annotated_with_a_dataclass_or_typed_dict_gets_it_whole(kind: Any) -> None:
    def tool(args: Any) -> Any:
        return args

    tool.__annotations__["args"] = kind

    assert run(spec_from_function(tool, args_schema=kind), {"x": "1"}) == kind(x=1)


def test_one_parameter_annotated_with_a_base_of_the_model_gets_the_instance() -> None:
    def tool(args: BaseModel) -> BaseModel:
        return args

    assert run(spec_from_function(tool, args_schema=SearchArgs), {"query": "a"}) == SearchArgs(query="a")


def test_without_args_schema_a_model_parameter_is_nested() -> None:
    def tool(args: SearchArgs) -> SearchArgs:
        return args

    assert run(spec_from_function(tool), {"args": {"query": "a"}}) == SearchArgs(query="a")


def test_a_model_may_be_made_on_the_fly() -> None:
    model = create_model("Args", order_id=(str, ...), amount=(float, 1.0))

    class Payment:
        def run(self, order_id: str, amount: float) -> tuple[str, float]:
            return order_id, amount

    assert run(spec_from_function(Payment().run, name="pay", args_schema=model), {"order_id": "1"}) == ("1", 1.0)


def test_a_function_with_var_keywords_takes_every_field() -> None:
    def tool(**kwargs: Any) -> Any:
        return kwargs

    assert run(spec_from_function(tool, args_schema=SearchArgs), {"query": "a"}) == {"query": "a", "limit": 10}


def test_a_field_that_the_function_does_not_take_is_a_definition_error() -> None:
    def tool(query: str) -> None: ...

    with pytest.raises(ToolDefinitionError, match="has the field 'limit', which the function does not take"):
        spec_from_function(tool, args_schema=SearchArgs)


def test_a_parameter_without_a_field_is_a_definition_error() -> None:
    def tool(query: str, limit: int, page: int) -> None: ...

    with pytest.raises(ToolDefinitionError, match="parameter 'page' is not in its args_schema and has no default"):
        spec_from_function(tool, args_schema=SearchArgs)


def test_a_parameter_with_a_default_needs_no_field() -> None:
    def tool(query: str, limit: int, page: int = 1) -> int:
        return page

    assert run(spec_from_function(tool, args_schema=SearchArgs), {"query": "a"}) == 1


def test_a_schema_is_its_own_schema() -> None:
    schema = schema_of(SearchArgs)

    assert schema_of(schema) is schema


def test_a_schema_object_can_be_the_args_schema() -> None:
    def tool(query: str, limit: int) -> tuple[str, int]:
        return query, limit

    assert run(spec_from_function(tool, args_schema=schema_of(SearchArgs)), {"query": "a"}) == ("a", 10)


def test_a_function_can_be_the_args_schema() -> None:
    def arguments(query: str, limit: int = 3) -> None: ...

    def tool(**kwargs: Any) -> Any:
        return kwargs

    assert run(spec_from_function(tool, args_schema=arguments), {"query": "a"}) == {"query": "a", "limit": 3}


def test_a_model_with_an_impossible_field_is_a_definition_error() -> None:
    class Args(BaseModel):
        model_config = {"arbitrary_types_allowed": True}

        x: pytest.MonkeyPatch

    with pytest.raises(ToolDefinitionError, match="no schema can be made of"):
        schema_of(Args)
