"""The ready-made pieces for CI services, run as written: on a real repository, with their variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shlex import split
from typing import Any
from xml.etree import ElementTree

import pytest
import strictyaml

from tests.cli.test_check_branch import CHANGES, git, make_repository
from tests.support.checkout import ROOT
from tests.support.command_line import Run, place
from tests.support.command_line import run as ask

__all__ = ["ask", "place"]
PROGRAM = Path(sys.executable).with_name("schemaman")


def read_yaml(name: str) -> Any:
    return strictyaml.load((ROOT / name).read_text(encoding="utf-8")).data


def clone_shallow(place: Path, change: str) -> Path:
    """What a service checks out by default: one commit of the branch, and nothing of its target."""
    make_repository(place, "", CHANGES[change][0])
    git(place, "clone", "-q", "--depth", "1", "--branch", "pr", f"file://{place}/upstream", "job")
    return place / "job"


def install(folder: Path) -> Path:
    """Stands for the step that installs: the program of this checkout where the step would put it."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "schemaman").symlink_to(PROGRAM)
    return folder


def run_script(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Source of the shell: GitHub Actions, `shell: bash`; the runners of GitLab and Azure set -e, too."""
    kept = {n: v for n, v in os.environ.items() if n in ("PATH", "HOME", "PYTHONPATH", "TMPDIR")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=kept | variables, capture_output=True, text=True)


def find_step(steps: Any, name: str) -> Any:
    return next(step for step in steps if name in (step.get("name"), step.get("displayName")))


def run_action(job: Path, place: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    step = find_step(read_yaml("action.yml")["runs"]["steps"], "Check")
    given = {name: inputs.get(name, "") for name in step["env"]}
    summary = {"RUNNER_TEMP": str(place), "GITHUB_STEP_SUMMARY": str(place / "summary.md")}
    return run_script(step["run"], job, GITHUB_BASE_REF="main", **summary, **given)


def test_the_action_fetches_the_base_and_annotates(tmp_path: Path) -> None:
    job = clone_shallow(tmp_path, "drop")
    install(tmp_path / "schemaman")
    done = run_action(job, tmp_path, CHECK_SARIF="out/check.sarif", CHECK_PATHS="\nschemas\n")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("::error file=schemas/shop.public.orders.json,line=")
    assert "✗ **break: column-dropped**" in (tmp_path / "summary.md").read_text()
    (run,) = json.loads((job / "out" / "check.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["column-dropped"]


def test_an_input_of_the_action_is_never_part_of_a_script(tmp_path: Path) -> None:
    action = read_yaml("action.yml")
    steps = action["runs"]["steps"]
    assert not [step["name"] for step in steps if "${{" in step["run"]]
    asked = {value for step in steps for value in step["env"].values()}
    assert asked == {"${{ inputs.%s }}" % name for name in action["inputs"]}  # noqa: UP031
    assert "$GITHUB_ACTION_PATH" in steps[0]["run"]
    job = clone_shallow(tmp_path, "nothing")
    install(tmp_path / "schemaman")
    hostile = '$(touch pwned)"; touch pwned; #`touch pwned`'
    for names in (("CHECK_PATHS",), ("CHECK_BASE", "CHECK_LEVEL"), ("CHECK_FAIL_ON",)):
        assert run_action(job, tmp_path, **dict.fromkeys(names, hostile)).returncode == 2, names
    assert not list(tmp_path.rglob("pwned*"))


def test_the_template_for_gitlab_writes_both_reports(tmp_path: Path) -> None:
    job = clone_shallow(tmp_path, "drop")
    install(job / ".schemaman")
    (template,) = read_yaml("ci/gitlab.yml").values()
    variables = {"CI_PROJECT_DIR": str(job), "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    git(job, "fetch", "-q", "--unshallow")  # GIT_DEPTH is 0
    assert template["variables"]["GIT_DEPTH"] == "0"
    script = "\n".join(template["script"])
    done = run_script(script, job, **variables, SCHEMAMAN_PATHS="")
    assert done.returncode == 1
    reports = template["artifacts"]["reports"]
    (entry,) = json.loads((job / reports["codequality"]).read_text())
    assert (entry["check_name"], entry["severity"]) == ("column-dropped", "critical")
    assert ElementTree.parse(job / reports["junit"]).getroot().get("failures") == "1"


def test_the_steps_for_azure_set_the_result(tmp_path: Path) -> None:
    job = clone_shallow(tmp_path, "drop")
    git(job, "fetch", "-q", "--unshallow", "origin", "+refs/heads/*:refs/remotes/origin/*")  # fetchDepth: 0
    install(tmp_path / "schemaman")
    step = find_step(read_yaml("ci/azure.yml")["steps"], "Check schemas")
    variables = {"SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main", "AGENT_TEMPDIRECTORY": str(tmp_path)}
    done = run_script(step["bash"], job, **variables)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "##vso[task.logissue type=error;sourcepath=schemas/shop.public.orders.json;"
    )
    assert "##vso[task.complete result=Failed;]" in done.stdout
    assert ElementTree.parse(tmp_path / "schemaman-junit.xml").getroot().get("failures") == "1"


@pytest.mark.parametrize(("change", "code"), [("drop", 1), ("nullable add", 0)])
def test_the_hook_for_pre_commit_runs_as_written(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch, change: str, code: int
) -> None:
    (hook,) = read_yaml(".pre-commit-hooks.yaml")
    assert (hook["language"], hook["pass_filenames"]) == ("python", "false")
    assert hook["always_run"] == "true", "pre-commit calls no hook for a commit that only deletes files"
    monkeypatch.chdir(make_repository(tmp_path, "", CHANGES[change][0]))
    program, *words = split(hook["entry"])
    assert program == "schemaman"
    done = ask(*words)
    assert done.code == code
    assert len(done.out.splitlines()) == 1
