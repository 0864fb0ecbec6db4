"""The classes that an annotation names are found, however they are written down."""

from __future__ import annotations

import collections.abc
import typing
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    ForwardRef,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Protocol,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from surehand.agent import AgentState
from surehand.checkpoints.codec import types_in
from surehand.graph import MessagesState
from surehand.messages import add_messages

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports, reportUnknownVariableType] - as hosts do

T = TypeVar("T")


class Color(Enum):
    RED = 1


@dataclass
class Leaf:
    color: Color


class Pair(NamedTuple):
    leaf: Leaf
    other: Node | None


@dataclass
class Node:
    """Recursive, and by name."""

    leaf: Leaf
    children: list[Node] = field(default_factory=list["Node"])
    missing: Missing | None = None  # pyright: ignore[reportUnknownVariableType]


class Model(BaseModel):
    nodes: dict[str, list[Node]]
    parent: Model | None = None


@dataclass
class Box(Generic[T]):
    held: T


class ModelBox(BaseModel, Generic[T]):
    held: T


class Part(TypedDict):
    leaf: Required[Leaf]


class State(Part, total=False):
    model: NotRequired[Annotated[Model, "about it"]]
    messages: Annotated[list[Any], add_messages]


class Empty(BaseModel):
    n: int = 0


Old: Any = namedtuple("Old", "a b")  # noqa: PYI024  # pyright: ignore[reportUntypedNamedTuple] - hosts have them
Named = NewType("Named", Leaf)
Alias = TypeAliasType("Alias", "list[Leaf]")
Direct = TypeAliasType("Direct", list[Leaf])
Bound = TypeVar("Bound", bound=Leaf)
OneOf = TypeVar("OneOf", Leaf, int)
LEAF: set[type[Any]] = {Leaf, Color}
NODE: set[type[Any]] = LEAF | {Node}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Color, {Color}),
        (Leaf, LEAF),
        (Node, NODE),
        (Pair, NODE | {Pair}),
        (Old, {Old}),
        (Model, NODE | {Model}),
        (State, NODE | {Model}),
        (list[Leaf], LEAF),
        (dict[str, tuple[Leaf, ...]], LEAF),
        (Mapping[Color, Sequence[int]], {Color}),
        (Leaf | None, LEAF),
        (Optional[Leaf], LEAF),  # noqa: UP045 - hosts write it so
        (Union[int, list[Leaf]], LEAF),  # noqa: UP007 - hosts write it so
        (Annotated[Leaf | None, object()], LEAF),
        (Literal[Color.RED, "x", 1], {Color}),
        (type[Leaf], LEAF),
        (Callable[[Leaf], int], LEAF),
        (Callable[..., Leaf], LEAF),
        (ClassVar[Leaf], LEAF),
        (Final[Leaf], LEAF),
        (Box[Leaf], LEAF | {Box}),
        (Box["Leaf"], {Box}),
        (ModelBox[Leaf], LEAF | {ModelBox, ModelBox[Leaf]}),
        (Named, LEAF),
        (Alias, set[type[Any]]()),
        (Direct, LEAF),
        (Bound, LEAF),
        (OneOf, LEAF),
        (Empty, {Empty}),
        (AgentState, set[type[Any]]()),
        (MessagesState, set[type[Any]]()),
        (int, set[type[Any]]()),
        (Any, set[type[Any]]()),
        (None, set[type[Any]]()),
    ],
    ids=str,
)
def test_classes_of_an_annotation_are_found(annotation: Any, expected: set[type[Any]]) -> None:
    assert types_in(annotation) == expected


def test_names_of_a_field_are_looked_up_where_its_class_is_defined() -> None:
    class Later(TypedDict):
        leaf: list[Leaf]
        local: list[Local]

    @dataclass
    class Local:
        pair: Pair

    assert types_in(Later) == NODE | {Local, Pair}


def test_name_that_cannot_be_found_hides_no_other() -> None:
    @dataclass
    class Holder:
        missing: Missing  # pyright: ignore[reportUnknownVariableType]
        nonsense: 1 + x  # type: ignore[valid-type]  # noqa: F821  # pyright: ignore - an annotation may be anything
        leaf: Leaf

    assert types_in(Holder) == LEAF | {Holder}


class Strange:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __hash__(self) -> int:
        raise TypeError("no")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no")


class Proto(Protocol):
    leaf: Leaf


@pytest.mark.parametrize(
    "annotation",
    [
        Strange(),
        Annotated[int, Strange()],
        "no such thing",
        "(",
        ForwardRef("nowhere"),
        5,
        ...,
        [],
        [[]],
        {},
        print,
        typing.Generic,
        typing.Union,
        collections.abc.Callable,
        Proto,
        TypeVar("Recursive", bound="Recursive"),  # noqa: F821  # pyright: ignore[reportUndefinedVariable] - itself
        BaseModel.model_dump,
    ],
    ids=lambda value: type(value).__name__,
)
def test_strange_annotation_is_empty_and_raises_nothing(annotation: Any) -> None:
    assert types_in(annotation) == set()
