from __future__ import annotations

import math
import sys
from typing import Any, cast

import pytest

from support.graphs import agent, builder, pixels
from surehand import MissingExtraError, OptionError
from surehand.graph import START


def test_it_is_the_svg_in_pixels() -> None:
    svg, picture = agent().draw_svg(), pixels(agent().draw_png(scale=1))
    assert f'width="{picture.width}" height="{picture.height}"' in svg


def test_it_is_as_large_as_asked_for() -> None:
    once, thrice = pixels(agent().draw_png(scale=1)), pixels(agent().draw_png(scale=3))
    assert (thrice.width, thrice.height) == (3 * once.width, 3 * once.height)


def test_its_ground_is_white() -> None:
    picture = pixels(agent().draw_png(scale=1))
    assert picture.rows[0] == b"\xff" * 4 * picture.width


def test_names_are_written_with_the_font_that_comes_with_it() -> None:
    def darkest(name: str) -> float:
        picture = pixels(builder(name).add_edge(START, name).compile().draw_png())
        middle = picture.width // 2
        columns, rows = range(middle - 30, middle + 30), range(picture.height * 2 // 5, picture.height * 3 // 5)
        return min(picture.brightness(x, y) for x in columns for y in rows)

    assert darkest("Wwwwwwww") < 100
    assert darkest(". . . . .") > 30


def test_a_graph_inside_is_opened_on_demand() -> None:
    made = builder("a").add_node("inner", agent()).add_edge(START, "a").add_edge("a", "inner").compile()
    assert pixels(made.draw_png(xray=True, scale=1)).height > pixels(made.draw_png(scale=1)).height


@pytest.mark.parametrize("package", ["resvg_py", "ttf_opensans"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"'surehand\[draw\]'") as caught:
        agent().draw_png()
    assert caught.value.package == package.replace("_", "-")


@pytest.mark.parametrize("scale", [0, -1, math.inf, math.nan, 11, True, "2"])
def test_a_scale_is_a_number(scale: object) -> None:
    with pytest.raises(OptionError, match="scale"):
        agent().draw_png(scale=cast("Any", scale))
