"""The command line, typed as people type it."""

import builtins
import csv
import gzip
import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import mmfs
from mmfs import MMFS
from mmfs.__main__ import main
from mmfs.cli import app
from mmfs.cli.demo import run_demo
from mmfs.cli.select import _show_scores
from mmfs.datasets import make_planted
from mmfs.fit import fit
from mmfs.io import Table, read_table, write_table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def planted():
    X, y, names = make_planted()
    return Table(X, y, names, target_name="group")


@pytest.fixture
def folder(tmp_path, monkeypatch, planted):
    """A folder with planted.csv in it, and nothing else."""
    monkeypatch.chdir(tmp_path)
    write_table(planted, "planted.csv")
    return tmp_path


def run(*words):
    """The outcome of `mmfs ...`; what was said on stderr is in `.stderr`."""
    return CliRunner().invoke(app, list(words), terminal_width=200)


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    return result


def test_select_prints_the_ranking_and_the_certificate(folder, planted):
    output = done("select", "planted.csv", "--target", "group", "-k", "6").output
    selector = MMFS(6).fit(planted.data, planted.y)
    names = [planted.name(j) for j in selector.indices_]
    places = [output.index(f" {rank} │ {name}") for rank, name in enumerate(names, start=1)]
    assert places == sorted(places)
    assert "Target group: 2 classes: case 202, control 198." in output
    for words in ("weight", "relevance", "redundancy", "higher in", "relative duality gap"):
        assert words in output
    assert f"6 of {planted.X.shape[1]} features selected from 400 instances" in output
    assert sorted(p.name for p in folder.iterdir()) == ["planted.csv"]


def test_select_writes_reduced_data_record_and_report(folder, planted):
    words = ["-t", "group", "-k", "6", "-o", "small.parquet", "--report", "page.html"]
    done("select", "planted.csv", *words)
    assert sorted(p.name for p in folder.iterdir()) == [
        "page.html", "planted.csv", "small.parquet", "small.parquet.json",
    ]  # fmt: skip
    selector = MMFS(6).fit(planted.data, planted.y)
    small = read_table("small.parquet", target="group")
    np.testing.assert_array_equal(small.X, planted.X[:, np.sort(selector.indices_)])
    assert small.y.tolist() == planted.y.tolist()
    record = json.loads((folder / "small.parquet.json").read_text())
    assert [row["feature"] for row in record["selected"]] == [
        planted.name(j) for j in selector.indices_
    ]
    assert [row["column"] for row in record["selected"]] == selector.indices_.tolist()
    np.testing.assert_allclose([row["weight"] for row in record["selected"]], selector.weights_)
    assert 0 <= record["result"]["relative_gap"] <= 1e-4
    assert record["versions"]["mmfs"] == mmfs.__version__
    sha256 = subprocess.check_output(["sha256sum", "planted.csv"], text=True).split()[0]
    assert record["data"]["sha256"] == sha256
    assert record["parameters"]["n_features_to_select"] == 6
    assert "<html" in (folder / "page.html").read_text()


def test_directions_are_those_of_the_class_means(folder, planted):
    record = json.loads(done("select", "planted.csv", "-t", "group", "-k", "6", "--json").stdout)
    for row in record["selected"]:
        values = planted.X[:, row["column"]]
        means = {name: values[planted.y == name].mean() for name in ("case", "control")}
        assert row["direction"] == f"higher in {max(means, key=means.get)}"
        assert row["relevance"] - row["redundancy"] > 0
    done("convert", "planted.csv", "numbers.csv", "--exclude", "group")
    target = "signal 1"
    words = ["-t", target, "-k", "2", "--task", "regression", "--json"]
    record = json.loads(done("select", "numbers.csv", *words).stdout)
    y = planted.X[:, planted.column(target)]
    for row in record["selected"]:
        rho = np.corrcoef(planted.X[:, planted.column(row["feature"])], y)[0, 1]
        assert row["direction"] == ("rises with it" if rho > 0 else "falls with it")
    assert record["data"]["target_holds"].startswith("quantities from ")


def test_scores_other_files_and_ranking_are_kept(folder, planted):
    (folder / "labels.txt").write_text("\n".join(planted.y))
    done("convert", "planted.csv", "numbers.csv", "--exclude", "group")
    words = ["-t", "labels.txt", "-k", "6", "--cv", "3", "--ranking", "ranks.csv", "--json"]
    record = json.loads(done("select", "numbers.csv", *words).stdout)
    assert list(record["other_files"]) == ["labels.txt"]
    scores = record["scores"]
    assert scores["score"] == "accuracy" and scores["chosen"] == scores["n_features"][-1] == 6
    assert scores["without_features"] == 202 / 400
    assert len(scores["mean"]) == len(scores["standard_error"]) == len(scores["n_features"])
    with (folder / "ranks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["feature"] for row in rows] == [row["feature"] for row in record["selected"]]
    assert float(rows[0]["weight"]) == record["selected"][0]["weight"]


def test_fewer_features_that_would_do_are_mentioned(capsys):
    scores = {"score": "accuracy", "without_features": 0.5, "chosen": 9, "n_features": [1, 4, 9],
              "mean": [0.6, 0.88, 0.9], "standard_error": [0.1, 0.05, 0.03]}  # fmt: skip
    _show_scores(scores, auto=True)
    said = capsys.readouterr().out
    assert "with 9 features: 0.900 (chosen among those tried" in said
    assert "4 features are within one standard error of the best" in said


def test_weights_that_are_missing_are_mentioned(folder):
    words = ["select", "planted.csv", "-t", "group"]
    assert "18 of them have no weight" in done(*words, "-k", "20", "--gamma", "2.5").output


def test_record_repeats_the_run(folder):
    first = json.loads(done("select", "planted.csv", "-t", "group", "-k", "5", "--json").stdout)
    options = {k: v for k, v in first["parameters"].items() if k != "verbose"}
    table = read_table(first["data"]["file"], target=first["data"]["target"])
    again = MMFS(**options).fit(table.data, table.y)
    assert [row["column"] for row in first["selected"]] == again.indices_.tolist()
    assert first["result"]["objective"] == again.objective_


@pytest.mark.parametrize("ending", ["npz", "svm.gz", "h5ad", "tsv.xz", "arrow"])
def test_select_from_and_to_other_formats(folder, ending):
    done("convert", "planted.csv", f"data.{ending}", "-t", "group")
    target = ["-t", "group"] if ending in ("h5ad", "tsv.xz", "arrow") else []
    done("select", f"data.{ending}", *target, "-k", "4", "-o", f"out.{ending}")
    assert read_table(f"out.{ending}", target=target[1] if target else None).X.shape == (400, 4)


def test_options_reach_the_selector(folder, planted):
    words = "--kernel poly2 --relevance binned_mutual_info --gamma 0.3 --C 0.5 --theta 0.6"
    words += " --rank path --tol 1e-3 --seed 4 --jobs 2 --no-center --task classification"
    result = done("select", "planted.csv", "-t", "group", "-k", "5", "--json", *words.split())
    found = json.loads(result.stdout)["parameters"]
    expected = {
        "kernel": "poly2", "relevance": "binned_mutual_info", "gamma": 0.3, "C": 0.5, "theta": 0.6,
        "rank": "path", "tol": 1e-3, "random_state": 4, "n_jobs": 2, "center": False,
        "task": "classification", "n_features_to_select": 5,
    }  # fmt: skip
    assert expected.items() <= found.items()


@pytest.mark.parametrize(
    "words",
    ["-k 6", "-k 6 --report a.html", "-k 6 --cv 3", "-k 6 --cv 3 --report a.html",
     "-k auto --cv 3 --report a.html", "--report a.html"],
)  # fmt: skip
def test_all_rows_are_fitted_once(folder, monkeypatch, words):
    fits = []
    monkeypatch.setattr(
        mmfs.selector, "fit", lambda prepared, rng: (fits.append(prepared), fit(prepared, rng))[1]
    )
    done("select", "planted.csv", "-t", "group", *words.split())
    assert [prepared.n_rows for prepared in fits].count(400) == 1


def test_number_chosen_by_cross_validation(folder):
    words = ["select", "planted.csv", "-t", "group", "--cv", "3"]
    result = done(*words, "-k", "auto", "--rule", "one_se")
    assert "Cross-validated accuracy with" in result.output
    result = done(*words, "-k", "6")
    assert "Cross-validated accuracy with 6 features: 0." in result.output


def test_groups_of_rows_stay_together(tmp_path, monkeypatch):
    """Rows repeat in groups: folds that tore them apart would make noise look predictive."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 40)), rng.integers(0, 2, 30)
    table = Table(np.repeat(X, 4, axis=0), np.repeat(y, 4), target_name="y")
    write_table(table, "twins.csv")
    (tmp_path / "patients.txt").write_text("\n".join(str(i // 4) for i in range(120)))

    def accuracy(*words):
        output = done("select", "twins.csv", "-t", "y", "-k", "20", "--cv", "5", *words).output
        return float(output.split("20 features: ")[1].split(";")[0])

    assert accuracy("--groups", "patients.txt") < 0.7 < 0.95 < accuracy()


def test_explain(folder):
    words = ["-t", "group", "-k", "6"]
    result = done("explain", "planted.csv", "signal 1", "copy of 1", "noise 3", *words)
    assert "rank" in result.output and "the same as" in result.output
    rows = json.loads(done("explain", "planted.csv", "noise 3", *words, "--json").stdout)
    assert rows[0]["feature"] == "noise 3" and not rows[0]["selected"]


def test_path(folder):
    done("path", "planted.csv", "-t", "group", "-k", "6", "--points", "5", "-o", "weights.csv",
         "--plot", "path.svg")  # fmt: skip
    weights = read_table("weights.csv")
    assert weights.X.shape[0] == 5 and weights.feature_names[0] == "gamma"
    assert (np.diff(weights.X[:, 0]) < 0).all()
    assert "<svg" in (folder / "path.svg").read_text()


def test_compare(folder):
    words = "-k 2,6 --cv 3 --methods mmfs,maxrel,chi2 -o scores.csv --plot plot.png --report c.html"
    result = done("compare", "planted.csv", "-t", "group", *words.split())
    assert "mmfs" in result.output and "maxrel" in result.output
    assert "chi2 could not take part" in result.stderr
    scores = read_table("scores.csv", target="method")
    assert scores.y.tolist() == ["mmfs", "mmfs", "maxrel", "maxrel"]
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "maxrel" in (folder / "c.html").read_text()
    record = json.loads(
        done(
            "compare", "planted.csv", "-t", "group", "-k", "2", "--methods", "mmfs", "--json"
        ).stdout
    )
    assert record["scores"][0]["method"] == "mmfs"


def test_info(folder):
    output = done("info", "planted.csv", "-t", "group").output
    for words in ("400", "case: 2", "dense, float64", "copy of"):
        assert words in output
    output = done("info", "planted.csv").output
    assert "columns of categories: group" in output and "name one with --target" in output
    assert "1 columns of categories; numbers dense, float64" in output


NOTHING_LEFT = [
    (["select", "planted.csv", "-t", "grup", "-k", "3"], "did you mean 'group'?"),
    (["select", "planted.csv", "-k", "3"], "name its column, or a file, with --target"),
    (["select", "planted.csv", "--exclude", "group"], "does not say what to predict"),
    (["select", "missing.csv", "-t", "y"], "there is no file missing.csv."),
    (["select", "empty.csv", "-t", "y"], "empty.csv is empty."),
    (["select", "cut.csv.gz", "-t", "group"], "cut.csv.gz is cut short"),
    (["select", "text.csv", "-t", "y"], "column 'b' holds text ('oops' in row 2)"),
    (
        ["select", "holes.csv", "-t", "y", "--missing", "refuse"],
        "X has NaN in row 1, column 1 ('b')",
    ),
    (["select", "planted.csv", "-t", "group", "-k", "0"], "-k is a whole number of at least 1"),
    (["select", "planted.csv", "-t", "group", "-k", "ten"], "-k is a whole number"),
    (["select", "planted.csv", "-t", "group", "-k", "5000"], "-k 5000 is more than the 52 usable"),
    (["select", "planted.csv", "-t", "group", "--gamma", "big"], "--gamma is 'auto' or a number"),
    (["select", "planted.csv", "-t", "group", "--kernel", "magic"], "kernel must be one of"),
    (["select", "planted.csv", "-t", "group", "--cv", "1"], "--cv takes at least 2 folds"),
    (["select", "planted.csv", "-t", "group", "-o", "no/where.csv"], "there is no folder no"),
    (["select", "planted.csv", "-t", "group", "-o", "planted.csv"], "is what is read; write to"),
    (["select", "planted.csv", "-t", "group", "-o", "text.csv"], "text.csv exists; pass --force"),
    (["select", "planted.csv", "-t", "group", "--report", "r.pdf"], "r.pdf cannot be a report"),
    (["select", "planted.csv", "-t", "group", "-o", "out.xyz"], "does not tell its format"),
    (["select", "planted.csv", "-t", "group", "--exclude", "nois*x"], "no column is called"),
    (
        ["select", "planted.csv", "-t", "group", "--formulation", "constrained", "--rank", "path"],
        "--rank path needs gamma, which --formulation constrained does not have; take --rank alpha",
    ),
    (["select", "text.csv", "-t", "a.txt", "--by", "x", "--by-order"], "column, --by, or in their"),
    (["explain", "planted.csv", "signal 11", "-t", "group"], "did you mean 'signal 1'?"),
    (["explain", "planted.csv", "signal 1", "-t", "group", "-k", "auto"], "needs a number for -k"),
    (["compare", "planted.csv", "-t", "group", "--methods", "magic"], "there is no method 'magic'"),
    (["compare", "planted.csv", "-t", "group", "-k", "5,x"], "-k takes whole numbers"),
    (["path", "planted.csv", "-t", "group", "--plot", "p.doc"], "p.doc cannot be a plot"),
    (["convert", "planted.csv", "out.csv", "-t", "grup"], "did you mean 'group'?"),
]


@pytest.mark.parametrize(("words", "sentence"), NOTHING_LEFT, ids=lambda v: str(v)[:60])
def test_mistakes_get_one_sentence_and_leave_nothing(folder, words, sentence):
    (folder / "empty.csv").touch()
    (folder / "cut.csv.gz").write_bytes(gzip.compress((folder / "planted.csv").read_bytes())[:5000])
    (folder / "text.csv").write_text("a,b,y\n1,2,0\n2,oops,1\n3,4,0\n")
    (folder / "holes.csv").write_text("a,b,y\n1,2,0\n2,,1\n3,4,0\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    given = {"-o", "--report"} & set(words)
    outputs = [] if words[0] != "select" or given else ["-o", "o.csv", "--report", "r.html"]
    result = run(*words, *outputs)
    assert result.exit_code == 1
    assert result.stdout == ""
    said = result.stderr.strip()
    assert sentence in said and said.startswith("mmfs: ") and "\n" not in said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("output", ["-o", "--report"])
def test_full_disk_gets_one_sentence_and_nothing_is_left(folder, small_disk, output):
    (small_disk / "filler").write_bytes(bytes(190_000))
    name = "out.csv" if output == "-o" else "page.html"
    result = run("select", "planted.csv", "-t", "group", "-k", "20", output, str(small_disk / name))
    assert result.exit_code == 1 and result.stdout == ""
    said = result.stderr.strip()
    assert f"{name} cannot be written (No space left on device)." in said and "\n" not in said
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_wrong_usage_and_unexpected_errors_have_their_own_codes(folder, monkeypatch):
    assert run("select").exit_code == 2
    assert run("select", "planted.csv", "--frobnicate").exit_code == 2
    assert run("demo", "-k", "0").exit_code == 2

    def broken(*_, **__):
        raise RuntimeError("oh dear")

    monkeypatch.setattr(MMFS, "fit", broken)
    result = run("select", "planted.csv", "-t", "group")
    assert result.exit_code == 3 and "unexpected RuntimeError: oh dear" in result.stderr
    assert "Traceback" not in result.stderr and "--debug" in result.stderr
    assert "Traceback" in run("select", "planted.csv", "-t", "group", "--debug").stderr


def test_warnings_are_notes(folder):
    result = done("compare", "planted.csv", "-t", "group", "-k", "40", "--methods", "fcbf")
    assert result.stderr.startswith("mmfs: note: fcbf, fold 1: FCBF keeps")
    assert "Warning" not in result.stderr


def test_help_has_examples_and_every_command():
    output = done("--help").output
    for name in ("select", "compare", "explain", "path", "convert", "info", "demo"):
        assert name in output
        shown = done(name, "--help").output
        assert f"mmfs {name}" in shown.split("Examples:")[1]
    assert "Exit codes" in output


def test_shell_completion():
    environment = os.environ | {"_MMFS_COMPLETE": "complete_bash", "COMP_WORDS": "mmfs sel",
                                "COMP_CWORD": "1"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", "from mmfs.cli import app; app(prog_name='mmfs')"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["select"]


SLOW = """
import sys, time, mmfs.cli.console as console
console.PATIENCE = 0
with console.one_sentence("--quiet" in sys.argv, False) as report:
    for i in range(5):
        report("half\\\\[bold] way", i, 5)
        time.sleep(0.15)
print("result")
"""


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_for_terminals(quiet):
    words = [sys.executable, "-c", SLOW, *(["--quiet"] if quiet else [])]
    piped = subprocess.run(words, capture_output=True, text=True)
    assert piped.stderr == "" and piped.stdout == "result\n"
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        words, stderr=end, stdout=subprocess.PIPE, env=os.environ | {"TERM": "xterm"}
    )
    os.close(end)
    shown = b""
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:
            break
        if not some:
            break
        shown += some
    os.close(terminal)
    assert process.communicate()[0] == b"result\n"
    assert (b"way" in shown) != quiet


def test_demo_prints_what_was_selected_dropped_and_certified():
    output = done("demo").output
    for words in (
        "Selected",
        "redundant with",
        "6 of 6 signals found",
        "duality gap",
        "1 constant",
    ):
        assert words in output


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


def test_demo_writes_its_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done("demo", "-o", "planted.csv")
    assert "6 of 53 features" in done("select", "planted.csv", "-t", "group", "-k", "6").output


def test_demo_for_another_number():
    assert len(run_demo(n_features=1).selected) == 1


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


def test_what_was_assumed_is_said_everywhere(folder):
    rows = [line.split(",") for line in (folder / "planted.csv").read_text().splitlines()]
    ids = ["id", *(f"p{i}" for i in range(400))]
    data = [",".join([name, *row[:-1]]) for name, row in zip(ids, rows, strict=True)]
    labels = [f"{name},{row[-1]}" for name, row in zip(ids, rows, strict=True)]
    (folder / "data.csv").write_text("\n".join(data))
    (folder / "clinic.csv").write_text("\n".join([labels[0], *reversed(labels[1:])]))
    words = ["-t", "clinic.csv:group", "-k", "6", "--report", "page.html", "-o", "small.csv"]
    output = done("select", "data.csv", *words).output
    assumed = "column 'id' names the rows; rows are matched by column 'id' of clinic.csv"
    assert f"Assumed: {assumed}." in output
    record = json.loads((folder / "small.csv.json").read_text())
    assert "; ".join(record["data"]["assumed"]) == assumed
    assert "rows are matched by column" in (folder / "page.html").read_text()
    assert "matched by column" in done("convert", "data.csv", "s", "-t", "clinic.csv:group").stderr
    text = (folder / "clinic.csv").read_text().replace("\np", "\nq")
    (folder / "clinic.csv").write_text(text)
    result = run("select", "data.csv", "-t", "clinic.csv:group", "-k", "6")
    assert result.exit_code == 1 and "400 of 400 rows are not in column 'id'" in result.stderr
    output = done("select", "data.csv", "-t", "clinic.csv:group", "-k", "6", "--by-order").output
    assert (
        "Assumed: column 'id' names the rows; rows of clinic.csv are taken in the order" in output
    )
    assert output.startswith(
        "This may be noise: nothing here is more relevant than chance explains"
    )


def test_noise_is_called_noise_at_the_top(folder):
    rng = np.random.default_rng(0)
    lines = (folder / "planted.csv").read_text().splitlines()
    labels = rng.permutation([line.rsplit(",", 1)[1] for line in lines[1:]])
    pairs = zip(lines[1:], labels, strict=True)
    mixed = [f"{line.rsplit(',', 1)[0]},{label}" for line, label in pairs]
    (folder / "noise.csv").write_text("\n".join([lines[0], *mixed]))
    result = done("select", "noise.csv", "-t", "group", "-k", "5", "--report", "page.html")
    assert result.output.startswith("This may be noise: nothing here is more relevant than chance")
    assert "relevant than chance" not in result.stderr  # once is enough
    page = (folder / "page.html").read_text()
    header = page[: page.index("</header>")]
    assert 'class="warning"' in header and "This may be noise" in header
    record = json.loads(done("select", "noise.csv", "-t", "group", "-k", "5", "--json").stdout)
    assert record["result"]["chance"] > 0.05 and record["result"]["noise"] is not None
    done("select", "planted.csv", "-t", "group", "-k", "5", "--report", "fine.html")
    assert "This may be noise" not in (folder / "fine.html").read_text()


def test_tables_as_they_are(folder):
    """Weights, covariates, events and groups of a table with holes and categories."""
    rng = np.random.default_rng(0)
    rows = ["id,age,kind,x,z,w,days,died,dx"]
    for i in range(80):
        x, z, sick = rng.standard_normal(), rng.standard_normal(), rng.random() < 0.5
        age = "" if i % 9 == 0 else 40 + i % 30
        label = "" if i < 3 else "sick" if x + sick > 0.5 else "well"
        days, died = int(30 * np.exp(-x) + 1), int(rng.random() < 0.8)
        rows.append(
            f"p{i},{age},{'ab'[int(sick)]},{x:.4f},{z:.4f},{1 + i % 2},{days},{died},{label}"
        )
    (folder / "as-is.csv").write_text("\n".join(rows) + "\n")
    (folder / "costs.csv").write_text("feature,cost\nage,1\nkind,5\nx,1\nz,1\n")
    (folder / "groups.csv").write_text("feature,group\nx,pair\nz,pair\n")
    (folder / "clinic.csv").write_text(
        "who,center\n" + "".join(f"p{i},{'uvw'[i % 3]}\n" for i in reversed(range(80)))
    )
    columns = ["--exclude", "days", "--exclude", "died", "--exclude", "w"]
    failed = run("select", "as-is.csv", "-t", "dx", "-k", "2", *columns)
    assert failed.exit_code == 1 and "3 of 80 rows have no target" in failed.output
    labelled = ["as-is.csv", "-t", "dx", "--drop-unlabelled", *columns]
    record = json.loads(done("select", *labelled, "-k", "2", "--json").output)
    assert [row["feature"] for row in record["selected"]] == ["x", "kind"]
    assert record["selected"][1]["direction"] in ("higher in sick: b", "higher in well: a")
    said = "; ".join(record["data"]["assumed"])
    for words in ("columns of categories: kind", "3 rows without a target", "missing values"):
        assert words in said
    weighted = ["as-is.csv", "-t", "dx", "--drop-unlabelled", "--weights", "w"]
    weighted += ["--exclude", "days", "--exclude", "died"]
    output = done("select", *weighted, "-k", "2", "--covariates", "clinic.csv:center").output
    assert "adjusted for center" in output and "count rows:" in output
    output = done("select", *labelled, "-k", "1", "--feature-groups", "groups.csv").output
    assert "pair" in output
    output = done("select", *labelled, "--costs", "costs.csv", "--budget", "2.5").output
    assert "kind" not in output.split("features selected")[0].split("Target")[0]
    output = done("select", *labelled, "-k", "2", "--must-include", "z").output
    assert "in" in output and "z" in output
    times = ["as-is.csv", "-t", "days", "--event", "died", "--exclude", "dx", "--exclude", "w"]
    output = done("select", *times, "-k", "1").output
    assert "censored times" in output and "x" in output
    wrong = run("select", "as-is.csv", "-t", "days", "--event", "kind", "-k", "1")
    assert wrong.exit_code == 1 and "kind holds 'b', but events are 0 or 1" in wrong.output
