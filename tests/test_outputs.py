"""Files appear whole or not at all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mmfs.cli import app
from mmfs.io import FileProblem, Outputs, Table, read_table, write_table

pytestmark = pytest.mark.slow

TABLE = Table(np.eye(3), np.array([0, 1, 0]), np.array(["a", "b", "c"]), target_name="y")


def test_nothing_appears_before_the_end_and_all_of_it_then(tmp_path):
    with Outputs() as outputs:
        for name in ("a.txt", "b.txt"):
            outputs.stage(tmp_path / name).write_text(name)
        assert not (tmp_path / "a.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_error_nothing_is_left(tmp_path, error):
    old = tmp_path / "old.txt"
    old.write_text("as it was")
    with pytest.raises(error), Outputs(force=True) as outputs:
        outputs.stage(old).write_text("half of")
        outputs.stage(tmp_path / "new.txt").write_text("half of")
        raise error
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    assert old.read_text() == "as it was"


def test_existing_files_are_replaced_only_by_force(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("mine")
    with pytest.raises(FileProblem, match=r"exists; pass force=True to replace it"):
        write_table(TABLE, path)
    assert path.read_text() == "mine"
    write_table(TABLE, path, force=True)
    assert path.read_text().startswith('"a","b","c","y"')
    with pytest.raises(FileProblem, match="exists"), Outputs() as outputs:
        outputs.stage(tmp_path / "b").write_text("ours")
        (tmp_path / "b").write_text("someone else's")  # meanwhile
    assert (tmp_path / "b").read_text() == "someone else's"


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(FileProblem, match=r"no folder .* to write a\.csv into"):
        write_table(TABLE, tmp_path / "nowhere" / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileProblem, match="is a folder; name a file"):
        write_table(TABLE, tmp_path / "folder.csv")
    with pytest.raises(FileProblem, match="asked for twice"), Outputs() as outputs:
        outputs.stage(tmp_path / "a")
        outputs.stage(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_links_modes_and_other_kinds_of_files_are_kept(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_table(TABLE, link, force=True)
    assert link.is_symlink() and real.read_text() != "old"
    assert real.stat().st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileProblem, match="is not a plain file"):
        write_table(TABLE, tmp_path / "pipe.csv", force=True)
    (tmp_path / "sub").mkdir()
    with pytest.raises(FileProblem, match="asked for twice"), Outputs() as outputs:
        outputs.stage(tmp_path / "a")
        outputs.stage(tmp_path / "sub" / ".." / "a")


def test_errors_of_other_files_are_not_blamed_on_the_outputs(tmp_path):
    with pytest.raises(FileNotFoundError), Outputs() as outputs:
        outputs.stage(tmp_path / "a").write_text("x")
        (tmp_path / "input").read_text()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "ending",
    ["csv", "csv.gz", "csv.zst", "parquet", "arrow", "svm", "npy", "npz", "mtx", "h5ad"],
)
def test_full_disk(small_disk, ending):
    X = np.random.default_rng(0).standard_normal((300, 300))
    with pytest.raises(FileProblem, match=r"cannot be written .*No space left on device"):
        write_table(Table(X), small_disk / f"large.{ending}")
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_while_writing(tmp_path, how):
    """Nothing under the name asked for; a process that can, removes what it began."""
    target = tmp_path / "out.svm"
    script = (
        "import sys, numpy as np, mmfs.cli.console as console\n"
        "from mmfs.io import Table, write_table\n"
        "X = np.random.default_rng(0).standard_normal((4000, 1000))\n"
        "with console.one_sentence(True, False):\n"
        "    write_table(Table(X), sys.argv[1])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(target)], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size > 10_000 for path in tmp_path.iterdir()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert not target.exists()
    if how is not signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []
        assert "Traceback" not in said
        assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[how]


def test_terminated_in_the_depths_of_a_library():
    """SIGTERM ends a process at once while nothing is being written, whatever C code it is in."""
    script = (
        "import sys, mmfs.cli.console as console\n"
        "with console.one_sentence(True, False):\n"
        "    print('ready', flush=True)\n"
        "    sum(range(10**12))\n"  # one call of C
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline().strip() == "ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == -signal.SIGTERM


def test_formulas_in_texts_are_escaped_if_asked(tmp_path):
    names = ["=1+1", "+a", "-b", "@c", "plain"]
    rows = np.array(["=cmd|' /C calc'!A0", "ok"], dtype=object)
    X = np.array([[-1.5, 2, 3, 4, 5], [1, 2, 3, 4, 5]])
    table = Table(X, np.array(["=x", "y"]), np.array(names), rows, "-target")
    for ending in ("csv", "tsv.gz", "parquet"):
        path = tmp_path / f"a.{ending}"
        write_table(table, path, escape_formulas=True)
        mark = "" if ending == "parquet" else "'"  # which no spreadsheet opens
        back = read_table(path, target=f"{mark}-target")
        assert back.feature_names.tolist() == [*(f"{mark}{name}" for name in names[:4]), "plain"]
        assert back.row_names.tolist() == [f"{mark}{rows[0]}", "ok"]
        assert back.y.tolist() == [f"{mark}=x", "y"]
        np.testing.assert_array_equal(back.X, X)  # numbers are numbers
    write_table(table, tmp_path / "b.csv")
    assert read_table(tmp_path / "b.csv", target="-target").feature_names.tolist() == names


def test_formulas_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((30, 3))
    table = Table(X, np.where(X[:, 0] > 0, "a", "b"), np.array(["=1+1", "u", "v"]), None, "t")
    write_table(table, "data.csv")
    words = ["select", "data.csv", "-t", "t", "-k", "2", "-o", "small.csv", "--ranking", "rank.csv"]
    result = CliRunner().invoke(app, [*words, "--escape-formulas"])
    assert result.exit_code == 0, result.stderr
    assert "'=1+1" in Path("small.csv").read_text() and ",'=1+1," in Path("rank.csv").read_text()
    assert CliRunner().invoke(app, ["convert", "data.csv", "c.csv", "-t", "t"]).exit_code == 0
    assert "'=1+1" not in Path("c.csv").read_text()
