"""Values of classes that were given come back as they were, and those of others are refused."""

from __future__ import annotations

import threading
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PrivateAttr,
    RootModel,
    TypeAdapter,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from surehand.checkpoints.codec import Codec
from surehand.errors import CheckpointError, OptionError
from surehand.freeze import freeze

T = TypeVar("T")


class Color(Enum):
    RED = object()
    GREEN = (1, 2)
    ALSO_GREEN = GREEN


class Word(StrEnum):
    YES = "yes"


class Number(IntEnum):
    ONE = 1


class Right(Flag):
    READ = 1
    WRITE = 2


class Mode(IntFlag):
    A = 1
    B = 4


class Point(NamedTuple):
    x: int
    y: Any = 0


Pair: Any = namedtuple("Pair", "left right")  # noqa: PYI024  # pyright: ignore[reportUntypedNamedTuple] - hosts have them


@dataclass
class Step:
    title: str
    done: bool = False
    tags: list[Any] = field(default_factory=list[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: tuple[Step, ...] = ()
    best: Step | None = None


@dataclass
class Made:
    """Makes something of what it is given, and does not take what it makes."""

    given: InitVar[str]
    words: list[str] = field(init=False)
    later: int = field(init=False)

    def __post_init__(self, given: str) -> None:
        self.words = given.split()
        self.count = len(self.words)

    @cached_property
    def lock(self) -> Any:
        return threading.Lock()


@dataclass
class Box(Generic[T]):
    held: T


@pydantic_dataclass
class Checked:
    n: int


class Item(BaseModel):
    name: str
    n: int = 0


class Order(BaseModel):
    items: list[Item]
    note: Any = None
    _seen: list[int] = PrivateAttr(default_factory=list[int])

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.items)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    a: int


class Named(BaseModel):
    by_alias: int = Field(alias="byAlias")
    by_choice: int = Field(validation_alias=AliasChoices("choice", "other"))


class Deep(BaseModel):
    n: int = Field(validation_alias=AliasPath("a", "b"))


class Split(BaseModel):
    """Its validator does not take what it returns."""

    words: list[str]

    @field_validator("words", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        return value.split()


class Doubling(BaseModel):
    """Its validator makes something else of what it returns."""

    n: int

    @model_validator(mode="after")
    def double(self) -> Doubling:
        self.n *= 2
        return self


class Names(RootModel[list[str]]):
    pass


class Generically(BaseModel, Generic[T]):
    held: T


class Site(BaseModel):
    url: HttpUrl


def made(**fields: Any) -> Made:
    value = Made("a b")
    vars(value).update(fields)
    return value


def ordered() -> Order:
    order = Order(items=[Item(name="a")], note=Item(name="b", n=2))
    order._seen.append(5)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what is under test
    return order


VALUES: list[Any] = [
    Color.RED,
    Color.ALSO_GREEN,
    Word.YES,
    Number.ONE,
    Right.READ,
    Right.READ | Right.WRITE,
    Right(0),
    Mode.A | 64,
    Point(1, (2,)),
    Pair("a", None),
    Step("a", tags=[(1,)]),
    Plan(steps=(Step("a"), Step("b")), best=Step("a")),
    made(later=3, extra=(1,)),
    Box([1]),
    Box[int](1),
    Checked(1),
    Item(name="a"),
    ordered(),
    Open(a=1, b=(2,)),  # type: ignore[call-arg]
    Open(a=1, **{"$x": 2}),
    Named.model_validate({"byAlias": 1, "choice": 2}),
    Deep.model_validate({"a": {"b": 1}}),
    Split(words="a b"),  # type: ignore[arg-type]
    Doubling(n=2),
    Names(["a"]),
    Generically[int](held=1),
    Site(url="https://example.org/a?b=c"),  # type: ignore[arg-type]
]


def again(value: object, *types: type[Any]) -> Any:
    codec = Codec(types or (type(value), Step, Item))
    return codec.loads(codec.dumps(value, where="key 'k'"), where="key 'k'")


def stored(value: object, *types: type[Any]) -> str:
    return Codec(types or (type(value),)).dumps(value, where="key 'k'")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_value_comes_back_equal_and_of_its_class(value: Any) -> None:
    found = again(value)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [Color.RED, Word.YES, Point(1), Plan(), Right.READ], ids=lambda v: type(v).__name__)
def test_value_comes_back_as_a_key(value: object) -> None:
    found = again({value: 1}, type(value))

    assert [type(key) for key in found] == [type(value)]
    assert found == {value: 1}


def test_instances_of_nested_classes_need_no_mention() -> None:
    assert again(Plan(best=Step("a")), Plan) == Plan(best=Step("a"))
    assert again(ordered(), Order) == ordered()


def test_what_a_constructor_made_is_not_made_twice() -> None:
    assert again(Doubling(n=2)).n == 4
    assert again(made(words=["x"])).words == ["x"]


def test_attributes_beside_the_fields_come_back() -> None:
    value = made()
    _ = value.lock

    found = again(value)

    assert found.count == 2
    assert not hasattr(found, "later")
    assert found.lock is not value.lock


def test_private_and_unset_fields_of_a_model_come_back() -> None:
    found = again(ordered())

    assert found._seen == [5]  # noqa: SLF001 - what is under test
    assert found.items[0].model_fields_set == {"name"}
    assert found.note.model_fields_set == {"name", "n"}


def test_model_that_was_changed_since_its_validation_comes_back_as_it_is() -> None:
    item = Item(name="a")
    item.n = "none"  # type: ignore[assignment]

    assert again(item).n == "none"


def test_read_only_copies_come_back_as_values_of_their_class() -> None:
    found = again(freeze(ordered()), Order)

    assert type(found) is Order
    assert found == ordered()


def test_validator_that_changes_what_it_is_given_does_not_change_the_value() -> None:
    class Sorted(BaseModel):
        names: list[str]

        @field_validator("names", mode="before")
        @classmethod
        def sort(cls, value: Any) -> Any:
            value.sort()
            return value

    model = Sorted(names=["a"])
    model.names = ["b", "a"]

    assert again(model).names == ["b", "a"]
    assert model.names == ["b", "a"]


def test_class_that_makes_its_instances_itself_is_not_asked_to() -> None:
    class Single(BaseModel):
        n: int

        def __new__(cls, *, n: int) -> Any:
            return super().__new__(cls)

    assert again(Single(n=1)) == Single(n=1)


# -- what is refused when it is written ------------------------------------------------------------------------------


class Plain:
    def __repr__(self) -> str:
        return "<Plain>"


@dataclass
class Listed(list[int]):
    n: int = 0


class Fancy(str):
    __slots__ = ()


REMEDY = "Put plain data, a dataclass or a pydantic model in its place, or keep it out of the state, as in context=."


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Plain(), f"at $.a[0], <Plain> is of class test_classes.Plain, which has no stored form. {REMEDY}"),
        (
            Step("a"),
            "Step, which is not among the types that are known here. Pass types=(Step,) to compile().",
        ),
        (Word.YES, "Pass types=(Word,) to compile()."),
        (Item(name="a"), "Pass types=(Item,) to compile()."),
        (Point(1), "Pass types=(Point,) to compile()."),
        (Fancy("x"), "'x' is of class test_classes.Fancy and would come back as a plain str. Store str(value)."),
        (Listed(), "is of class test_classes.Listed and would come back as a plain list. Store list(value)."),
        (ValueError("x"), "which has no stored form"),
        (print, "which has no stored form"),
        (int, "which has no stored form"),
    ],
    ids=str,
)
def test_value_of_a_class_that_is_not_known_is_refused_with_its_place(value: Any, words: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        Codec().dumps({"a": [value], "b": 1}, where="key 'k'")

    assert str(caught.value).startswith("key 'k': at $.a[0], ")
    assert words in str(caught.value).replace(f"{__name__}.", "test_classes.")


def test_subclass_of_a_class_that_was_given_is_refused() -> None:
    class Special(Step):
        pass

    with pytest.raises(CheckpointError, match=r"Pass types=\(.*Special,\)"):
        stored(Special("a"), Step)


def test_what_a_field_holds_is_refused_with_the_way_to_it() -> None:
    with pytest.raises(CheckpointError, match=r"at \$.plan\[1\].tags\[0\]\['a b'\], <Plain> is of class"):
        stored({"plan": [1, Step("a", tags=[{"a b": Plain()}])]}, Step)


def test_private_value_without_a_stored_form_is_refused() -> None:
    order = ordered()
    order._seen.append(Plain())  # type: ignore[arg-type]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportArgumentType] - what is under test

    with pytest.raises(CheckpointError, match="<Plain> is of class"):
        stored(order)


def test_model_without_a_value_for_a_field_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"has no value for its field 'name'\. Give it one."):
        stored(Item.model_construct())


def test_dataclass_without_a_value_for_a_field_is_refused() -> None:
    step = Step("a")
    del step.title

    with pytest.raises(CheckpointError, match="has no value for its field 'title'"):
        stored(step)


def test_member_of_an_enum_that_no_name_leads_to_is_refused() -> None:
    class Loose(Enum):
        A = 1

        @classmethod
        def _missing_(cls, value: object) -> Any:
            member = object.__new__(cls)
            member._name_, member._value_ = "B", value
            return member

    with pytest.raises(CheckpointError, match=r"is no member of .*Loose by its name"):
        stored(Loose(2))


def test_named_tuple_with_more_than_its_fields_is_refused() -> None:
    class Wide(Point):
        pass

    wide = Wide(1)
    wide.extra = 1  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] - it has a dict of its own

    with pytest.raises(CheckpointError, match="is a named tuple that holds more than its fields"):
        stored(wide)


def test_field_that_raises_when_it_is_read_is_refused() -> None:
    @dataclass
    class Broken:
        n: int

        def __getattribute__(self, name: str) -> Any:
            if name == "n":
                raise RuntimeError("not today")
            return object.__getattribute__(self, name)

    with pytest.raises(CheckpointError, match=r"cannot be taken apart \(RuntimeError: not today\)"):
        stored(Broken(1))


def twin() -> Any:
    @dataclass
    class Twin:
        n: int

    return Twin


def test_two_classes_of_one_name_are_both_refused() -> None:
    one, other = twin(), twin()

    for kind in (one, other):
        with pytest.raises(CheckpointError, match=r"one of two classes that are both called .*Twin\. Rename one"):
            stored(kind(1), one, other)


@pytest.mark.parametrize("types", [5, Step, Color, (5,), (Plain,), ("Step",), ([],)], ids=repr)
def test_types_that_are_none_are_refused(types: Any) -> None:
    with pytest.raises(OptionError, match="types="):
        Codec(types)


# -- what is refused when it is read ---------------------------------------------------------------------------------


def test_class_that_is_not_known_is_refused_by_its_name() -> None:
    text = stored(Step("a"))

    with pytest.raises(CheckpointError) as caught:
        Codec([Step]).loads(text.replace(".Step", ".Stop"), where="key 'k'")

    assert "Stop' is not among the types that are known here. Name it in the state's annotations" in str(caught.value)
    assert "Did you mean" in str(caught.value)


def test_no_name_is_ever_imported() -> None:
    for name in ("subprocess.Popen", "os.system", "builtins.eval", "surehand.Codec"):
        with pytest.raises(CheckpointError, match="is not among the types"):
            Codec([Step]).loads(f'{{"surehand":1,"value":{{"$record":["{name}",{{}}]}}}}', where="key 'k'")


def reread(text: str, old: str, new: str, *types: Any) -> Any:
    assert old in text
    return Codec(types).loads(text.replace(old, new), where="key 'k'")


def test_new_field_takes_its_default_and_a_missing_one_is_named() -> None:
    text = stored(Step("a", done=True))

    assert reread(text, ',"done":true', "", Step) == Step("a")
    with pytest.raises(
        CheckpointError, match=r"no title of Step is stored, which it needs\. Give that field a default"
    ):
        reread(text, '"title":"a",', "", Step)


def test_new_field_of_a_model_takes_its_default_and_a_missing_one_is_named() -> None:
    text = stored(Item(name="a", n=5))

    assert reread(text, ',"n":5', "", Item) == Item(name="a")
    assert reread(text, ',"n":5', "", Item).model_fields_set == {"name"}
    with pytest.raises(CheckpointError, match="no name of Item is stored"):
        reread(text, '"name":"a",', "", Item)


def test_field_that_is_gone_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"Step has no field colour any more\. Give it back"):
        reread(stored(Step("a")), '"done"', '"colour"', Step)
    with pytest.raises(CheckpointError, match="Point has no field z any more"):
        reread(stored(Point(1, 2)), '"y"', '"z"', Point)


def test_named_tuple_fills_in_its_defaults() -> None:
    assert reread(stored(Point(1, 2)), ',"y":2', "", Point) == Point(1)


def test_values_that_a_model_does_not_take_are_named() -> None:
    with pytest.raises(CheckpointError) as caught:
        reread(stored(Item(name="a", n=5)), '"n":5', '"n":"many"', Item)

    assert "what is stored is no Item: $.n: Input should be a valid integer" in str(caught.value)
    assert "Give the class back the rules it was stored by." in str(caught.value)


def test_member_that_is_gone_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"Word has no member 'NO'\. Give it that member back"):
        reread(stored(Word.YES), "YES", "NO", Word)
    with pytest.raises(CheckpointError, match=r"\$enum cannot be made of"):
        reread(stored(Right.READ), "1]", "64]", Right)


@pytest.mark.parametrize(
    ("tag", "rest"),
    [
        ("$record", ""),
        ("$record", ',"x"'),
        ("$record", ',{"title":"a"},5'),
        ("$model", ',{"title":"a"}'),
        ("$enum", ',"a"'),
    ],
)
def test_parts_that_are_none_are_refused(tag: str, rest: str) -> None:
    with pytest.raises(CheckpointError, match="key 'k': "):
        Codec([Step]).loads(f'{{"surehand":1,"value":{{"{tag}":["{__name__}.Step"{rest}]}}}}', where="key 'k'")


def test_validators_that_raise_anything_are_one_error() -> None:
    class Angry(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def rage(cls, value: int) -> int:
            if value == 7:
                raise RuntimeError("seven")
            return value

    with pytest.raises(CheckpointError, match="RuntimeError: seven"):
        reread(stored(Angry(n=1)), '"n":1', '"n":7', Angry)


def test_urls_come_back() -> None:
    url = TypeAdapter(AnyUrl).validate_python("ftp://a/b")

    assert again(url) == url
    with pytest.raises(CheckpointError, match=r"\$url cannot be made of"):
        reread(stored(url), "ftp://a/b", "nowhere", AnyUrl)
