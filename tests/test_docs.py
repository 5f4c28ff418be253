"""Commands in the documents do what the documents say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def sessions(path):
    """Of every `sh` block with prompts: the commands, each with lines of its output."""
    for block in path.read_text().split("```sh\n")[1:]:
        lines = block.split("```")[0].splitlines()
        if lines[0].startswith("$ "):
            commands = []
            for line in lines:
                if line.startswith("$ "):
                    commands.append((line[2:], []))
                else:
                    commands[-1][1].append(line)
            yield from commands


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_commands_of(page, tmp_path):
    program = tmp_path / "bin" / "mmfs"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mmfs "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "150"}
    folder = tmp_path / "work"
    folder.mkdir()
    commands = list(sessions(ROOT / page))
    assert commands
    for command, shown in commands:
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        for line in shown:
            assert line in done.stdout + done.stderr, f"{command}: {done.stdout}{done.stderr}"
