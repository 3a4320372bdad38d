"""The entry point: finds commands, turns faults into messages and exit codes.

| code | meaning |
|---|---|
| 0 | clean |
| 1 | findings at or above `--fail-on`, refusals, drift |
| 2 | usage or configuration |
| 3 | could not be done or checked |
| 4 | stale or locked |
| 5 | partly applied |
| 130, 143 | Ctrl-C, SIGTERM |
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from traceback import walk_tb
from types import FrameType
from typing import TextIO

import click

from schemaman.api.exit_codes import FAILED, USAGE, exit_code
from schemaman.errors import SchemamanError, message_of
from schemaman.plugins import find_version
from schemaman_cli.faults import REPORT
from schemaman_cli.group import LazyGroup
from schemaman_cli.output import discard_output, write_error_lines

PROGRAM = "schemaman"
COMPLETION = "_SCHEMAMAN_COMPLETE"
"""The variable in which a shell asks for completions, as the scripts of `completion` set it."""

INTERRUPTED, TERMINATED = 130, 143
_CONTINUE = "run the same command again: it goes on where it stopped"


class Terminated(BaseException):
    """SIGTERM came: what holds something open lets go of it on the way out."""


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        click.echo(f"schemaman {find_version()}")
        context.exit()


@click.command(cls=LazyGroup)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def root() -> None:
    """Know every change of every table behind a Debezium stream, and migrate the lake behind it."""


COLLECT = (50_000, 20, 50)
"""When Python looks for cycles. Histories are values by the hundred thousand and have none: looking at all of
them again and again takes as long as reading them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    gc.set_threshold(*COLLECT)
    signal.signal(signal.SIGTERM, _terminate)
    if not _has_stdout():
        return _report_error(
            "standard output is closed", "redirect it to /dev/null if nobody reads it", FAILED
        )
    try:
        result = _done(words or ["--help"])
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, KeyboardInterrupt):
        _end_line()
        return _report_error("interrupted", _CONTINUE, INTERRUPTED)
    except Terminated:
        return _report_error("terminated", _CONTINUE, TERMINATED)
    except SchemamanError as error:
        if debug:
            raise
        return _report_error(error.message, error.hint, exit_code(error))
    except Exception as error:
        if isinstance(error, OSError) and _of_stdout(error):
            discard_output(sys.stdout)
            if isinstance(error, BrokenPipeError):
                return 0
            what = f"standard output cannot be written: {error.strerror or error}"
            return _report_error(what, "make room, or write somewhere else", FAILED)
        if debug:
            raise
        return _report_error(message_of(error), REPORT, FAILED)


def _done(words: list[str]) -> object:
    """What the command gives.

    Click's own `main` would end with 1, a finding, whenever a pipe is broken, whosever it is.
    """
    instruction = os.environ.get(COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete  # only when a shell asks

        return shell_complete(root, {}, PROGRAM, COMPLETION, instruction)
    with root.make_context(PROGRAM, words) as context:
        return root.invoke(context)


def _has_stdout() -> bool:
    """Whether there is a stream at all: Python has none if the descriptor was closed at the start."""
    stream: TextIO | None = sys.stdout
    return stream is not None


def _of_stdout(error: OSError) -> bool:
    """Whether standard output refused what was written: all of it goes through `click.echo`.

    Asking the stream again tells nothing where it has no buffer: it then holds nothing back.
    """
    frames = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    return frames[-1] in (click.echo.__code__, main.__code__)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if isinstance(context, click.Context) else "schemaman --help"
    return _report_error(error.format_message().rstrip(), hint, USAGE)


def _report_error(what: str, hint: str | None, code: int) -> int:
    write_error_lines(f"error: {what}")
    if hint:
        write_error_lines(f"  hint: {hint}")
    return code


def _end_line() -> None:
    """Close the line in which a terminal shows ^C."""
    stream: TextIO | None = sys.stderr
    if stream is not None and stream.isatty():
        write_error_lines("")


if __name__ == "__main__":
    sys.exit(main())
