"""The entry point: runs a command, turns errors into messages and exit codes.

| code | meaning |
|---|---|
| 0 | success |
| 1 | findings at or above `--fail-on`, refusals, drift |
| 2 | wrong usage or configuration |
| 3 | the work or the check was impossible |
| 4 | stale plan or locked target |
| 5 | plan partly applied |
| 130, 143 | Ctrl-C, SIGTERM |
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from traceback import walk_tb
from types import FrameType
from typing import TextIO

import click

from schemaman import __version__
from schemaman.api.exit_codes import FAILED, USAGE, exit_code
from schemaman.errors import SchemamanError, message_of
from schemaman.model.shell import add_options_in_spans
from schemaman_cli.cycle_collection import COLLECT as COLLECT
from schemaman_cli.faults import REPORT
from schemaman_cli.group import LazyGroup
from schemaman_cli.output import discard_output, is_json_chosen, write_error, write_error_lines
from schemaman_cli.store_options import find_options

PROGRAM = "schemaman"
COMPLETION = "_SCHEMAMAN_COMPLETE"
"""The environment variable with a shell's completion request; the scripts of `completion` set it."""

INTERRUPTED, TERMINATED = 130, 143
_CONTINUE = "run the same command again to continue"


class Terminated(BaseException):
    """SIGTERM was received. Open resources are released while this propagates."""


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        click.echo(f"schemaman {__version__}")
        context.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def root() -> None:
    """Record every schema change of the tables in a Debezium stream, and migrate the lake tables."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    report_error = partial(write_error, as_json=is_json_chosen(words))
    gc.set_threshold(*COLLECT)
    signal.signal(signal.SIGTERM, _terminate)
    if not _has_stdout():
        return report_error(
            "standard output is closed", "redirect it to /dev/null if you do not need it", FAILED
        )
    try:
        result = _run_command(words or ["--help"])
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.ClickException as error:
        return report_error(*_describe_usage_error(error), USAGE)
    except (click.Abort, KeyboardInterrupt):
        _end_line()
        return report_error("interrupted", _CONTINUE, INTERRUPTED)
    except Terminated:
        return report_error("terminated", _CONTINUE, TERMINATED)
    except SchemamanError as error:
        if debug:
            raise
        hint = error.hint and add_options_in_spans(error.hint, find_options(words))
        return report_error(error.message, hint, exit_code(error))
    except Exception as error:
        if isinstance(error, OSError) and _is_stdout_error(error):
            discard_output(sys.stdout)
            if isinstance(error, BrokenPipeError):
                return 0
            what = f"standard output cannot be written: {error.strerror or error}"
            return report_error(what, "free disk space, or redirect the output elsewhere", FAILED)
        if debug:
            raise
        return report_error(message_of(error), REPORT, FAILED)


def _run_command(words: list[str]) -> object:
    """Return the result of the command.

    Click's own `main` exits with 1 for any broken pipe, and 1 means findings here.
    """
    instruction = os.environ.get(COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete  # loaded only for a completion request

        import_module("schemaman_cli.shells")  # it registers its class
        return shell_complete(root, {}, PROGRAM, COMPLETION, instruction)
    with root.make_context(PROGRAM, words) as context:
        return root.invoke(context)


def _has_stdout() -> bool:
    """Whether standard output exists: `sys.stdout` is None if the descriptor was closed at the start."""
    stream: TextIO | None = sys.stdout
    return stream is not None


def _is_stdout_error(error: OSError) -> bool:
    """Whether a write to standard output raised the error: all such writes use `click.echo`.

    A second flush would show nothing: an unbuffered stream keeps no text for it.
    """
    frames = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    return frames[-1] in (click.echo.__code__, main.__code__)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _describe_usage_error(error: click.ClickException) -> tuple[str, str]:
    """Return the message and the hint of a wrong command line."""
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if isinstance(context, click.Context) else "schemaman --help"
    return error.format_message().rstrip(), hint


def _end_line() -> None:
    """End the line in which a terminal shows ^C."""
    stream: TextIO | None = sys.stderr
    if stream is not None and stream.isatty():
        write_error_lines("")


if __name__ == "__main__":
    sys.exit(main())
