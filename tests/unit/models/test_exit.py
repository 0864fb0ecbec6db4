"""Programs that use a model end without an open connection, however they asked it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.programs import chat_reply, run_python
from support.provider_server import provider_server

WAYS = {
    "from synchronous code": "print(model.invoke('hi').text)",
    "on a loop of its own": "print(asyncio.run(model.ainvoke('hi')).text)",
    "inside a running loop": """
warnings.simplefilter('ignore', RuntimeWarning)
async def main():
    print(model.invoke('hi').text)
asyncio.run(main())
""",
    "in a thread": """
thread = threading.Thread(target=lambda: print(model.invoke('hi').text))
thread.start()
thread.join()
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_no_connection_stays_open(way: str, tmp_path: Path) -> None:
    with provider_server([chat_reply("hello")]) as server:
        program = (
            "import asyncio, threading, warnings\n"
            "from surehand import ChatOpenAI\n"
            f"model = ChatOpenAI('m', api_key='k', base_url={server.url!r})\n"
            f"{WAYS[way]}\n"
        )
        done = run_python("-W", "always::ResourceWarning", "-c", program, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("hello\n", "")
