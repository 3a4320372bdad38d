"""Plays the `console` blocks of a page: commands of schemaman in this process, others in a shell."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
from pathlib import Path

from schemaman_cli.main import main

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ ([^\n]*<<'END'\n.*?^END$|[^\n]*$)", re.DOTALL | re.MULTILINE)


def play(text: str, folder: Path) -> str:
    """The text with what each command of its blocks printed just now, in a folder that is the working one."""
    code = [0]
    return _BLOCK.sub(lambda block: f"```console\n{_play_block(block[1], folder, code)}```", text)


def _play_block(block: str, folder: Path, code: list[int]) -> str:
    lines: list[str] = []
    for command in _COMMAND.findall(block):
        printed = _run(command, folder, code)
        lines += [f"$ {command}", *(line.rstrip() for line in printed.rstrip("\n").split("\n") if printed)]
    return "".join(f"{line}\n" for line in lines)


def _run(command: str, folder: Path, code: list[int]) -> str:
    if command == "echo $?":
        return f"{code[0]}\n"
    if command.startswith("schemaman "):
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code[0] = main(shlex.split(command)[1:])
            output.flush()
        return output.buffer.getvalue().decode()
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout
