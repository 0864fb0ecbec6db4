"""How all tests run."""

from __future__ import annotations

import os

from hypothesis import settings

# no deadline: a busy machine is no failure; the same examples every time where a change is judged by them
settings.register_profile("surehand", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("surehand")
