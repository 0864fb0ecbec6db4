"""Whether a checkpointer keeps what ``Checkpointer`` promises."""

from __future__ import annotations

from collections.abc import Callable

from surehand.checkpoints import Checkpointer
from surehand.testing.savers import CHECKS, what_was_put_outlives_the_saver

__all__ = ["check_checkpointer"]


def check_checkpointer(
    make: Callable[[], Checkpointer], *, reopen: Callable[[Checkpointer], Checkpointer] | None = None
) -> None:
    """Try every promise of ``Checkpointer`` on savers of your own, for some seconds.

    What is tried: that checkpoints, chains of versions, forks, writes and calls come back as they were put; that of two
    writers, claimants or callers one wins; that what is refused leaves nothing; that pruning, dropping and deleting
    forget what they should and nothing else; texts and numbers of all kinds, up to some MB; several threads, several
    loops, awaits that are cancelled; what a closed saver says; and that a saver that is opened anew has it all.

    What is not tried: power failures, full disks, rows that were changed by hand, and how fast it is.

    Args:
        make: Gives a saver that holds nothing, another one each time; it is called some forty times. All are closed.
        reopen: Given a closed saver, gives one on the same storage; None where nothing outlives a saver.

    Raises:
        AssertionError: A promise is broken; the message says which, what was expected, and what was got instead.
        BaseException: What a saver raised where it should not; a note says which promise was tried.

    Example:
        def test_my_saver(tmp_path):
            numbers = itertools.count()
            check_checkpointer(
                lambda: MySaver(tmp_path / f"{next(numbers)}.db"),
                reopen=lambda saver: MySaver(saver.path),
            )
    """
    for check in CHECKS:
        _run(check.__name__, check, make())
    if reopen is not None:
        _run("what_was_put_outlives_the_saver", lambda saver: what_was_put_outlives_the_saver(saver, reopen), make())


def _run(name: str, check: Callable[[Checkpointer], None], saver: Checkpointer) -> None:
    try:
        try:
            check(saver)
        finally:
            saver.close()
    except BaseException as error:
        error.add_note(f"check_checkpointer: {name.strip('_').replace('_', ' ')}")
        raise
