from __future__ import annotations

import pytest

from surehand.spec.docstrings import read_docstring

GOOGLE = """Search the web.

    Takes a while: be patient.

    Args:
        query (str): What to look for.
            On several lines.
        limit (int, optional): How many.
        *rest: More of it.
        **options: Any others.

    Returns:
        A list.

    Note:
        limit: not a parameter here.
    """

NUMPY = """Search the web.

    Takes a while: be patient.

    Parameters
    ----------
    query : str
        What to look for.
    limit, size : int, optional
        How many.

    Returns
    -------
    list
        A list.
    """

SPHINX = """Search the web.

    Takes a while: be patient.

    :param query: What to look for.
    :param int limit: How many.
    :returns: A list.
    :raises ValueError: never
    """

EPYDOC = """Search the web.

    Takes a while: be patient.

    @param query: What to look for.
    @type query: str
    @return: A list.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX, EPYDOC])
def test_the_description_is_the_prose_before_the_first_section(text: str) -> None:
    assert read_docstring(text).description == "Search the web.\n\nTakes a while: be patient."


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX, EPYDOC])
def test_parameters_are_described(text: str) -> None:
    assert read_docstring(text).parameters["query"].startswith("What to look for.")


def test_several_lines_types_and_stars_are_read() -> None:
    found = read_docstring(GOOGLE).parameters

    assert found == {
        "query": "What to look for.\nOn several lines.",
        "limit": "How many.",
        "rest": "More of it.",
        "options": "Any others.",
    }


def test_names_that_share_a_description_are_told_apart() -> None:
    assert read_docstring(NUMPY).parameters == {"query": "What to look for.", "limit": "How many.", "size": "How many."}


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_is_no_description(text: str | None) -> None:
    assert read_docstring(text).description == ""


@pytest.mark.parametrize("line", ["Note: this is prose.", "Warning: hot.", "Usage is: simple", "Ratio 3:4"])
def test_a_word_with_a_colon_may_be_prose(line: str) -> None:
    assert read_docstring(f"Do it.\n\n{line}").description == f"Do it.\n\n{line}"


@pytest.mark.parametrize("line", ["Returns: a list", "Raises: ValueError", "Yields: things"])
def test_a_section_on_one_line_ends_the_description(line: str) -> None:
    assert read_docstring(f"Do it.\n\n{line}").description == "Do it."


@pytest.mark.parametrize("header", ["Example", "Examples", "Todo", "See Also", "Warnings", "References", "Notes"])
def test_known_headers_end_the_description(header: str) -> None:
    assert read_docstring(f"Do it.\n\n{header}:\n    something\n").description == "Do it."


@pytest.mark.parametrize(
    "text", ["Args:\n", "Do.\n\nArgs:\n    nonsense without a colon\n", "Args:\n x\n  : y", ":param"]
)
def test_broken_sections_never_raise(text: str) -> None:
    assert isinstance(read_docstring(text).parameters, dict)


def test_chinese_descriptions_are_kept() -> None:
    found = read_docstring("根据用户 ID 查询用户信息。\n\n    Args:\n        user_id: 用户 ID，必须是正整数\n    ")

    assert found.description == "根据用户 ID 查询用户信息。"
    assert found.parameters == {"user_id": "用户 ID，必须是正整数"}
