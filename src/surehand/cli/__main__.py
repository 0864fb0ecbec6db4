"""``python -m surehand.cli`` is ``surehand``."""

from surehand.cli import main

main()
