"""The commands and their options."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any, Literal, cast

import typer

from surehand.cli._call import call_tool, outcome_of
from surehand.cli._conversation import show_live
from surehand.cli._demo import JsonReport, ScreenReport, run_demo
from surehand.cli._desk import Desk
from surehand.cli._errors import FAILED, CommandError, one_line_errors
from surehand.cli._listing import SchemaForm, exported, show_tools
from surehand.cli._log import developer_log
from surehand.cli._modules import load_one_tool, load_tools
from surehand.cli._scenes import QUESTION
from surehand.cli._screen import Screen, print_json
from surehand.cli._serve import serve

__all__ = ["app"]

app = typer.Typer(
    name="surehand",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Tools = Annotated[
    str, typer.Argument(metavar="MODULE[:NAME]", help="A module or a .py file, and a tool, function or list in it.")
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="local, local:PATH, openai:NAME, anthropic:NAME, …; runs live."),
]
Log = Annotated[bool, typer.Option("--log", help="Show the developer's log on standard error.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _print_version(is_asked: bool) -> None:  # noqa: FBT001 - how an option's callback is called
    if is_asked:
        print(f"surehand {version('surehand')}")
        raise typer.Exit


@app.callback()
def surehand(
    *,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Tool calls of language models, taken surely: parsed without loss, validated, run, answered."""


@app.command()
def demo(
    *,
    model: ModelName = None,
    fast: Annotated[bool, typer.Option("--fast", help="No pauses between the scenes.")] = False,
    json: Json = False,
    log: Log = False,
) -> None:
    """Show what becomes of a model's calls; 15 seconds, no key. Exits with 1 if a promise is broken."""
    with one_line_errors(), developer_log(is_shown=log):
        if model is not None:
            if json:
                raise CommandError(problem="--json cannot show a live model", remedy="Leave out --json or --model.")
            if not show_live(model_name=model, tools=Desk().tools(), question=QUESTION, screen=Screen()):
                raise typer.Exit(FAILED)
            return
        report = JsonReport() if json else ScreenReport(screen=Screen(), is_fast=fast)
        if not run_demo(report):
            raise typer.Exit(FAILED)


@app.command()
def run(
    module: Tools,
    question: Annotated[str, typer.Argument(help="What the agent is asked.")],
    *,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="openai:NAME, anthropic:NAME, local, …")],
    system: Annotated[str | None, typer.Option("--system", help="The system prompt.")] = None,
    max_iterations: Annotated[int, typer.Option(min=1, help="The most model calls.")] = 25,
    log: Log = False,
) -> None:
    """Ask an agent that has the tools of a module, and show each step. Exits with 1 if there was no answer."""
    with one_line_errors(), developer_log(is_shown=log):
        is_answered = show_live(
            model_name=model,
            tools=load_tools(module),
            question=question,
            screen=Screen(),
            system_prompt=system,
            max_iterations=max_iterations,
        )
        if not is_answered:
            raise typer.Exit(FAILED)


@app.command()
def call(
    tool: Tools,
    arguments: Annotated[str, typer.Argument(help="The argument text as a model sends it; - reads it in.")] = "",
    *,
    json: Json = False,
    log: Log = False,
) -> None:
    """Run one call as a model's call, and print what the model is told. Exits with 1 if the call failed."""
    with one_line_errors(), developer_log(is_shown=log):
        sent = sys.stdin.read() if arguments == "-" else arguments
        answer = call_tool(load_one_tool(tool), sent)
        if json:
            print_json(outcome_of(answer, sent=sent))
        else:
            print(answer.text)
        if answer.status == "error":
            raise typer.Exit(FAILED)


@app.command()
def tools(
    module: Tools,
    *,
    schema: Annotated[SchemaForm | None, typer.Option("--schema", help="Print the export in this form.")] = None,
) -> None:
    """List the tools of a module: name, description, arguments, options."""
    with one_line_errors():
        found = load_tools(module)
        if schema is not None:
            print_json(exported(found, schema), indent=2)
        else:
            show_tools(found, Screen())


@app.command()
def serve_mcp(
    module: Tools,
    *,
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve HTTP on this machine, under /mcp.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What the server calls itself.")] = None,
    log: Log = False,
) -> None:
    """Serve the tools of a module to MCP clients, over standard input and output."""
    with one_line_errors(), developer_log(is_shown=log):
        serve(module, name=name, http=http)


@app.command()
def lint(
    module: Tools,
    *,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="For people, or for programs.")] = "text",
    select: Annotated[str, typer.Option("--select", metavar="RULES", help="Only these rules, with commas.")] = "",
    ignore: Annotated[str, typer.Option("--ignore", metavar="RULES", help="All but these rules, with commas.")] = "",
    strict_providers: Annotated[
        str,
        typer.Option("--strict-providers", metavar="NAMES", help="openai,anthropic,gemini: also their strict forms."),
    ] = "",
    max_tokens: Annotated[int, typer.Option(min=1, help="Estimated tokens that one tool may cost.")] = 1_000,
    max_total_tokens: Annotated[int, typer.Option(min=1, help="The same for all tools together.")] = 10_000,
) -> None:
    """Look for mistakes in the tools of a module, without running one. Exits with 1 if there are any."""
    from surehand import lint_tools  # noqa: PLC0415 - only this command looks at every provider's form
    from surehand.cli._lint import lint_report, listed, show_findings  # noqa: PLC0415 - likewise

    with one_line_errors():
        found = load_tools(module)
        findings = lint_tools(
            found,
            select=listed(select) or None,
            ignore=listed(ignore),
            strict_providers=cast("Any", listed(strict_providers)),
            max_tokens=max_tokens,
            max_total_tokens=max_total_tokens,
        )
        if form == "json":
            print_json(lint_report(found, findings), indent=2)
        else:
            show_findings(found, findings, Screen())
        if findings:
            raise typer.Exit(FAILED)
