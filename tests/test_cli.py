import builtins
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import mmfs
from mmfs.__main__ import main
from mmfs.cli import app
from mmfs.demo import run_demo


def test_demo_prints_what_was_selected_dropped_and_certified():
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0
    for words in (
        "Selected",
        "redundant with",
        "6 of 6 signals found",
        "duality gap",
        "1 constant",
    ):
        assert words in result.output


@pytest.mark.parametrize("seed", range(5))
def test_demo_finds_every_signal_once_and_explains_every_twin(seed):
    demo = run_demo(random_state=seed)
    assert demo.found == demo.planted == 6
    assert len({name.split()[-1] for name in demo.selected.index}) == 6
    twins = demo.dropped[~demo.dropped.index.str.startswith("noise")]
    assert len(twins) == 6
    for row in twins.itertuples():
        cause = next(iter(row.causes))  # the first is the largest
        assert cause.split()[-1] == row.Index.split()[-1] and cause in row.why


def test_demo_for_other_numbers():
    assert len(run_demo(n_features=1).selected) == 1
    assert CliRunner().invoke(app, ["demo", "-k", "0"]).exit_code == 2


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "mmfs", "--version"], capture_output=True, text=True
    )
    assert done.stdout.strip() == f"mmfs {mmfs.__version__}"


def test_missing_extra_is_one_sentence(monkeypatch):
    real = builtins.__import__

    def without_typer(name, *args, **kwargs):
        if name == "typer":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_typer)
    with pytest.raises(SystemExit, match=r"needs typer and rich: pip install 'mmfs\[cli\]'"):
        main()
