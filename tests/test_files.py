"""Tables from files and back."""

import datetime
import gzip
import os
import pickle
import time
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from mmfs.io import FORMATS, FileProblem, Table, csv, read_table, write_table

pytestmark = pytest.mark.slow

ENDINGS = [
    "csv", "csv.gz", "csv.xz", "csv.zst", "tsv", "tsv.gz", "parquet", "arrow", "svm", "svm.gz",
    "svm.xz", "svm.zst", "npy", "npz", "mtx", "mtx.gz", "h5ad",
]  # fmt: skip
BY_NAME = ("csv", "tsv", "parquet", "arrow", "h5ad")  # the target is a column, to be named


def example(kind="dense", labels="text"):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((12, 5)), 3) * 10.0 ** rng.integers(-9, 9, (12, 5))
    X[rng.random(X.shape) < 0.4] = 0
    X[0] = [0.1, 1 / 3, 1e-300, -np.pi, 12345678901234567]
    if kind != "dense":
        X = sp.csr_array(X) if kind == "csr" else sp.csc_array(X)
    y = {
        "text": np.array(["ham", "spam", "spam, fried"] * 4),
        "whole": rng.integers(-1, 2, 12),
        "real": rng.standard_normal(12),
    }[labels]
    names = np.array(["plain", "two words", 'quo"ted', "comma,ed", "<b>é</b>"])
    return Table(X, y, names, np.array([f"row {i}" for i in range(12)]), "class")


@pytest.mark.parametrize("labels", ["text", "whole", "real"])
@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, ending, kind, labels):
    table, path = example(kind, labels), tmp_path / f"data.{ending}"
    lost = write_table(table, path)
    target = "class" if ending.split(".")[0] in BY_NAME else None
    back = read_table(path, target=target)
    for one in (table, back):
        assert isinstance(one.X, np.ndarray) or one.X.format in ("csr", "csc")
    X, Z = (one.X if isinstance(one.X, np.ndarray) else one.X.toarray() for one in (table, back))
    assert Z.dtype == X.dtype
    np.testing.assert_array_equal(Z, X)
    if ending.split(".")[0] in ("npz", *BY_NAME):
        assert back.target_name == "class"
    if "the target" in lost:
        assert back.y is None
    elif ending.startswith("svm") and labels == "text":  # 0, 1, ... in order, as a comment says
        np.testing.assert_array_equal(back.y, np.unique(table.y, return_inverse=True)[1])
    else:
        np.testing.assert_array_equal(back.y, table.y)
    if "the names of the features" in lost:
        assert back.feature_names is None and back.name(2) in "23"
    else:
        assert back.feature_names.tolist() == table.feature_names.tolist()
        assert back.row_names.tolist() == table.row_names.tolist()


def test_every_format_is_tried_above():
    tried = {ending.split(".")[0] for ending in ENDINGS}
    assert all(tried & {e[1:] for e in kind.extensions} for kind in FORMATS.values())


def test_float32_and_whole_numbers_keep_their_precision(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    names = np.array(["a", "b", "c"])
    for ending in ("parquet", "arrow", "npz", "npy", "h5ad"):
        path = tmp_path / f"single.{ending}"
        write_table(Table(X, feature_names=names), path)
        back = read_table(path).X
        assert back.dtype == np.float32
        np.testing.assert_array_equal(back, X)


def test_files_of_other_programs(tmp_path):
    """As pandas, scikit-learn, SciPy, NumPy and anndata write them."""
    pandas = pytest.importorskip("pandas")
    anndata = pytest.importorskip("anndata")
    table = example()
    frame = pandas.DataFrame(table.X, columns=table.feature_names)
    frame["class"] = pandas.Categorical(table.y)
    frame["ok"] = table.X[:, 0] > 0
    frame.to_parquet(tmp_path / "a.parquet")
    frame.drop(columns="class").assign(**{"class": table.y}).to_csv(tmp_path / "a.csv")
    for name in ("a.parquet", "a.csv"):
        back = read_table(tmp_path / name, target="class")
        np.testing.assert_array_equal(back.X[:, :5], table.X)
        np.testing.assert_array_equal(back.X[:, 5], table.X[:, 0] > 0)
        assert back.y.tolist() == table.y.tolist()
    sp.save_npz(tmp_path / "b.npz", sp.csc_matrix(table.X))
    np.savez(tmp_path / "c.npz", anything=table.X, y=table.y)
    for name in ("b.npz", "c.npz"):
        found = read_table(tmp_path / name).X
        np.testing.assert_array_equal(found if name[0] == "c" else found.toarray(), table.X)
    dump_svmlight_file(table.X, np.arange(12), str(tmp_path / "d.svm"), zero_based=False)
    np.testing.assert_allclose(read_table(tmp_path / "d.svm").X.toarray(), table.X, rtol=1e-14)
    cells = anndata.AnnData(
        sp.csr_matrix(table.X),
        obs=pandas.DataFrame({"type": pandas.Categorical(table.y)}, index=table.row_names),
        var=pandas.DataFrame(index=table.feature_names),
    )
    cells.write_h5ad(tmp_path / "e.h5ad")
    back = read_table(tmp_path / "e.h5ad", target="type")
    assert back.y.tolist() == table.y.tolist()
    assert back.feature_names.tolist() == table.feature_names.tolist()


def test_genes_as_rows(tmp_path):
    path = tmp_path / "genes.tsv.gz"
    lines = [
        "gene\ts1\ts2\ts3",
        "class\tALL\tAML\tALL",
        "g1\t1\t2\t3",
        "g2\t0.5\t\t-1",
        "g1\t7\t8\t9",
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(FileProblem, match=r"has several columns called 'g1'; rename them, or have"):
        read_table(path, target="class", transpose=True)
    asked = {"target": "class", "transpose": True, "number_duplicates": True}
    table = read_table(path, **asked)
    np.testing.assert_array_equal(table.X, [[1, 0.5, 7], [2, np.nan, 8], [3, -1, 9]])
    assert table.y.tolist() == ["ALL", "AML", "ALL"]
    assert table.feature_names.tolist() == ["g1", "g2", "g1.1"]
    assert table.row_names.tolist() == ["s1", "s2", "s3"]
    only = read_table(path, **asked, include=["g1"])
    assert only.X.shape == (3, 2)
    lines[2] = "g1\t1\ttwo\t3"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(FileProblem, match=r"'two' in row 'g1', column 's2' is not a number"):
        read_table(path, target="class", transpose=True)


def test_descriptions_beside_genes(tmp_path):
    path = tmp_path / "genes.csv"
    path.write_text("gene,about,s1,s2\nclass,,p,q\ng1,a kinase,1,2\ng2,unknown,3,5\n")
    with pytest.raises(FileProblem, match=r"column 'about' does not hold numbers; take it out"):
        read_table(path, target="class", transpose=True)
    table = read_table(path, target="class", transpose=True, numbers_only=True)
    assert table.X.tolist() == [[1, 3], [2, 5]] and table.y.tolist() == ["p", "q"]
    assert table.row_names.tolist() == ["s1", "s2"] and table.left_out == ("about",)
    path.write_text("gene,about,s1,s2\nclass,,0,1\ng1,a kinase,1,2\ng2,unknown,3,5\n")
    table = read_table(path, target="class", transpose=True, numbers_only=True)
    assert table.y.tolist() == [0, 1]


def test_transposed_matrices(tmp_path):
    table = example("csr")
    write_table(table, tmp_path / "a.npz")
    (tmp_path / "labels.txt").write_text("kind\n" + "\n".join("abcde") + "\n")
    np.savez(tmp_path / "b.npz", X=table.X.toarray())
    for name in ("b.npz",):
        back = read_table(tmp_path / name, transpose=True, target=str(tmp_path / "labels.txt"))
        np.testing.assert_array_equal(back.X, table.X.toarray().T)
        assert back.y.tolist() == list("abcde")
    with pytest.raises(FileProblem, match=r"transposed, X has 5 rows, but the target .* has 12"):
        read_table(tmp_path / "a.npz", transpose=True)


def test_target_in_another_file_is_matched_by_name(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("id,a,b\nx,1,2\ny,3,4\nz,5,7\n")
    clinic = tmp_path / "clinic.csv"
    clinic.write_text("id,sex,diagnosis\nz,f,AML\nx,m,ALL\ny,f,CML\n")
    table = read_table(data, target=f"{clinic}:diagnosis")
    assert table.y.tolist() == ["ALL", "CML", "AML"] and table.target_name == "diagnosis"
    clinic.write_text("id,sex,diagnosis\nz,f,AML\nx,m,ALL\nw,f,CML\n")
    refused = r"1 of 3 rows are not in column 'id' of .*: the data have y, that column has z, x, w;"
    with pytest.raises(FileProblem, match=refused + " pass the right one as by, .*by_order=True"):
        read_table(data, target=f"{clinic}:diagnosis")
    clinic.write_text("sex,diagnosis\nf,AML\nm,ALL\nf,CML\n")  # no names: in the same order
    table = read_table(data, target=f"{clinic}:diagnosis")
    assert table.y.tolist() == ["AML", "ALL", "CML"]
    assert table.assumed[-1].endswith("does not name its rows: they are taken in the order they are"
                                      " in")  # fmt: skip
    clinic.write_text("site,diagnosis,sample\nA,AML,z\nA,ALL,x\nA,CML,y\nA,AML,w\n")  # anywhere
    assert read_table(data, target=f"{clinic}:diagnosis").y.tolist() == ["ALL", "CML", "AML"]
    clinic.write_text("site,diagnosis,sample\nA,AML,z\nA,ALL,x\nA,CML,y\nA,AML,y\n")
    with pytest.raises(FileProblem, match=r"'y' occurs more than once in column 'sample' of"):
        read_table(data, target=f"{clinic}:diagnosis")
    clinic.write_text("feature,diagnosis\na,AML\nb,ALL\nc,ALL\n")
    with pytest.raises(
        FileProblem, match=r"names the columns of the data, not the rows; pass transpose=True"
    ):
        read_table(data, target=f"{clinic}:diagnosis")
    numbered = tmp_path / "numbered.csv"
    numbered.write_text(",a,b\n1,1,2\n2,3,4\n3,5,7\n")
    clinic.write_text("id,diagnosis\n3,AML\n1,ALL\n2,CML\n")
    assert read_table(numbered, target=f"{clinic}:diagnosis").y.tolist() == ["ALL", "CML", "AML"]
    with pytest.raises(FileProblem, match=r"there is no file clinic\.cvs, and there is no column"):
        read_table(numbered, target="clinic.cvs:diagnosis")
    with pytest.raises(FileProblem, match=r"no column in .* called 'diagnose'; did you mean 'diag"):
        read_table(data, target=f"{clinic}:diagnose")
    with pytest.raises(FileProblem, match=r"several columns; say which, as in"):
        read_table(data, target=str(clinic))
    np.save(tmp_path / "y.npy", [3, 1, 2])
    assert read_table(data, target=str(tmp_path / "y.npy")).y.tolist() == [3, 1, 2]
    np.savez(tmp_path / "labels.npz", y=[0, 1, 1], other=[5, 6, 7])
    assert read_table(data, target=f"{tmp_path}/labels.npz").y.tolist() == [0, 1, 1]
    assert read_table(data, target=f"{tmp_path}/labels.npz:other").y.tolist() == [5, 6, 7]
    (tmp_path / "short.txt").write_text("1\n2\n")
    with pytest.raises(FileProblem, match=r"short.txt has 2 values for 3 rows"):
        read_table(data, target=str(tmp_path / "short.txt"))


def test_data_are_parsed_once_also_with_the_target_in_another_file(tmp_path, monkeypatch):
    genes, clinic = tmp_path / "genes.csv", tmp_path / "clinic.csv"
    genes.write_text("gene,s1,s2\ng1,1,2\ng2,3,5\n")
    clinic.write_text("sample,kind\ns2,q\ns1,p\n")
    parsed, real = [], csv._parsed

    def counted(path, *rest, **more):
        parsed.append(path)
        return real(path, *rest, **more)

    monkeypatch.setattr(csv, "_parsed", counted)
    table = read_table(genes, transpose=True, target=f"{clinic}:kind")
    assert table.y.tolist() == ["p", "q"] and parsed == [genes, clinic]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_of_a_wide_table_only_some_columns_are_read_for_the_target(two, ending):
    wide, names = two.with_name(f"wide.{ending}"), np.array([f"g{j}" for j in range(400)])
    write_table(Table(np.zeros((3, 400)), np.array(["p", "q", "p"]), names, target_name="y"), wide)
    found = FORMATS[ending].columns(wide, "y", None)
    assert list(found) == [*(f"g{j}" for j in range(100)), "y"]
    assert read_table(two, target=f"{wide}:y").y.tolist() == ["p", "q", "p"]


def test_names_for_columns_without(tmp_path):
    path, names = tmp_path / "a.svm", tmp_path / "words.txt"
    path.write_text("1 1:1 3:2\n0 2:5\n")
    names.write_text("the\nof\nand\n")
    table = read_table(path, names=str(names))
    assert table.feature_names.tolist() == ["the", "of", "and"] and table.column("of") == 1
    assert read_table(path).name(0) == "1" and read_table(path).column("3") == 2
    with pytest.raises(FileProblem, match="numbers from 1 to 3"):
        read_table(path).column("0")
    assert read_table(path, exclude=["2"]).X.toarray().tolist() == [[1, 2], [0, 0]]


def test_columns_to_include_and_exclude(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,g1,g2,age,sex,y\np,1,2,30,m,0\nq,3,4,40,f,1\n")
    for ending in ("csv", "parquet"):
        if ending == "parquet":
            pandas = pytest.importorskip("pandas")
            pandas.read_csv(path).to_parquet(path.with_suffix(".parquet"))
        file = path.with_suffix(f".{ending}")
        table = read_table(file, target="y")
        assert table.X.column(3).tolist() == ["m", "f"] and table.feature_names[3] == "sex"
        assert table.assumed[-1] == "columns of categories: sex"
        table = read_table(file, target="y", exclude=["sex"])
        assert table.feature_names.tolist() == ["g1", "g2", "age"]
        assert table.row_names.tolist() == ["p", "q"]
        assert read_table(file, target="y", include=["g*"]).X.tolist() == [[1, 2], [3, 4]]
        assert read_table(file, target="y", include=["g*"], exclude=["g2"]).X.tolist() == [[1], [3]]
        with pytest.raises(FileProblem, match=r"no column is called 'agee'; did you mean 'age'"):
            read_table(file, target="y", exclude=["agee"])
        with pytest.raises(FileProblem, match=r"'sex,age'; give each name by itself"):
            read_table(file, target="y", exclude=["sex,age"])
        with pytest.raises(FileProblem, match="no column is left"):
            read_table(file, target="y", include=["g*"], exclude=["g*"])
        numbers = read_table(file, target="y", numbers_only=True)
        assert numbers.feature_names.tolist() == ["g1", "g2", "age"]
        assert numbers.left_out == ("sex",)
        grouped = read_table(file, target="y", groups="sex")
        assert grouped.groups.tolist() == ["m", "f"] and grouped.X.shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b,y\n", "has a line of names, but no others"),
        ("y\n1\n2\n", "has one column only"),
        ("0.5,1.5\n1,2\n", "starts with numbers; add a first line"),
        ("a,b,y\n1,oops,0\n2,3,1\n", r"column 'b' holds text \('oops' in row 1\)"),
        ("a,b,y\n1,2,0\n2,oops,1\n", r"column 'b' holds text \('oops' in row 2\)"),
        ("a,b,y\n2026-01-01,2,0\n2026-01-02,3,1\n", "column 'a' holds values of type date32"),
        ("a,b,y\n1,2,0\n2,3\n", r"cannot be read as CSV \(.*Expected 3 columns, got 2"),
        ("a,b,x\n1,2,0\n", "there is no column in .* called 'y'"),
    ],
)
def test_csv_that_is_refused(tmp_path, text, sentence):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FileProblem, match=sentence):
        read_table(path, target="y")


def test_csv_as_people_make_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffname;a;a;b c\r\nx;1;NA;true\r\ny;2;4.5;false\r\n".encode())
    with pytest.raises(FileProblem, match=r"a\.csv has several columns called 'a'; rename them"):
        read_table(path, target="b c")
    table = read_table(path, target="b c", number_duplicates=True)
    assert table.feature_names.tolist() == ["a", "a.1"]
    assert table.assumed == ("column 'name' names the rows",)
    assert table.y.tolist() == [True, False]
    np.testing.assert_array_equal(table.X, [[1, np.nan], [2, 4.5]])
    path.write_bytes("größe,y\n1,2\n".encode("latin-1"))
    with pytest.raises(FileProblem, match="is not UTF-8 text"):
        read_table(path, target="y")


class Trap:
    def __reduce__(self):
        return (print, ("the trap has sprung",))


def test_pickles_are_never_loaded(tmp_path, capsys):
    objects = np.empty((2, 2), dtype=object)
    objects[:] = Trap()
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "b.npz", X=np.eye(2), y=objects[0])
    np.savez(tmp_path / "c.npz", X=objects)
    (tmp_path / "d.npy").write_bytes(pickle.dumps(Trap()))
    np.savez(
        tmp_path / "e.npz", data=objects, indices=[0], indptr=[0, 1], shape=[1, 1], format="csr"
    )
    for name in ("a.npy", "b.npz", "c.npz", "d.npy", "e.npz"):
        with pytest.raises(FileProblem, match=r"Python objects|cannot be read"):
            read_table(tmp_path / name)
    assert "sprung" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "ending", sorted({e for kind in FORMATS.values() for e in kind.extensions})
)
def test_missing_empty_damaged_and_folder(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    with pytest.raises(FileProblem, match="there is no file"):
        read_table(path)
    path.write_bytes(b"")
    with pytest.raises(FileProblem, match="is empty"):
        read_table(path)
    path.write_bytes(b"\x00\x01not what it should be\xff" * 10)
    with pytest.raises(FileProblem, match=str(path)):
        read_table(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileProblem, match="is a folder, not a file"):
        read_table(path)


def test_unknown_formats(tmp_path):
    path = tmp_path / "a9a"
    path.write_text("1 1:1\n")
    with pytest.raises(FileProblem, match=r"does not tell its format; let it end in \.csv, \.tsv"):
        read_table(path)
    assert read_table(path, format="svmlight").X.shape == (1, 1)
    with pytest.raises(FileProblem, match=r"b\.xlsx is a spreadsheet; save it as CSV"):
        read_table(tmp_path / "b.xlsx")
    with pytest.raises(FileProblem, match="there is no format 'xls'"):
        read_table(path, format="xls")
    with pytest.raises(FileProblem, match=r"cannot be compressed as a whole; leave out \.gz"):
        read_table(tmp_path / "a.parquet.gz")


def test_sparse_data_are_not_written_dense_by_the_billion(tmp_path):
    table = Table(sp.csr_array((10**5, 10**5)), np.zeros(10**5))
    with pytest.raises(FileProblem, match=r"too many .*; write \.npz, \.svm"):
        write_table(table, tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_dense_tables_go_to_selectors_without_a_copy(tmp_path):
    write_table(example(), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", target="class")
    assert np.shares_memory(np.asarray(table.data), table.X)
    assert table.data.columns.tolist() == table.feature_names.tolist()


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("a,b\n1,2\n3,4\n5,7\n")
    return path


@pytest.mark.parametrize(
    "text",
    ["p\nq\np\n", "p\nq\np", "p\nq\np\n\n\n", "kind\np\nq\np\n", "p\r\nq\r\np\r\n"],
)
def test_labels_in_lines(two, text):
    labels = two.with_name("labels.txt")
    labels.write_bytes(text.encode())
    assert read_table(two, target=str(labels)).y.tolist() == ["p", "q", "p"]


def test_a_line_too_many_is_not_a_heading_if_it_is_a_label(two):
    labels = two.with_name("labels.txt")
    labels.write_text("p\nq\np\nq\n")
    with pytest.raises(FileProblem, match="has 4 values for 3 rows"):
        read_table(two, target=str(labels))
    labels.write_bytes("gr\xfcn\nq\np\n".encode("latin-1"))
    with pytest.raises(FileProblem, match="is not UTF-8 text"):
        read_table(two, target=str(labels))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1\n-1\n1", [1, -1, 1]),
        ("0.5\n1\ninf", [0.5, 1, np.inf]),
        ("007\n7\n7", ["007", "7", "7"]),
        ("1_0\n2\n3", ["1_0", "2", "3"]),
        ("1e20\n1e19\n1", [1e20, 1e19, 1]),
    ],
)
def test_labels_that_look_like_numbers(two, text, values):
    labels = two.with_name("labels.txt")
    labels.write_text(text)
    assert read_table(two, target=str(labels)).y.tolist() == values


def test_names_stay_text(two):
    names = two.with_name("names.txt")
    names.write_text("007\n1e5\n")
    table = read_table(two, names=str(names))
    assert table.feature_names.tolist() == ["007", "1e5"] and table.column("1e5") == 1
    assert read_table(two, names=str(names), include=["00*"]).X.shape == (3, 1)
    rows = two.with_name("rows.csv")
    rows.write_text(",a,y\n001,1,0\n002,2,1\n")
    assert read_table(rows, target="y").row_names.tolist() == ["001", "002"]


def test_a_column_comes_before_a_file_of_its_name(two, monkeypatch):
    monkeypatch.chdir(two.parent)
    two.with_name("b").write_text("9\n9\n8\n")
    table = read_table("two.csv", target="b")
    assert table.y.tolist() == [2, 4, 7] and table.feature_names.tolist() == ["a"]
    two.with_name("c").write_text("9\n9\n8\n")
    assert read_table("two.csv", target="c").y.tolist() == [9, 9, 8]
    with pytest.raises(FileProblem, match="there is no column"):
        read_table("two.csv", target="x" * 300)


def test_names_that_would_meet_are_refused(tmp_path):
    X, names = np.eye(2), np.array(["a", "y"])
    for table in (
        Table(X, np.array([0, 1]), names, target_name="y"),
        Table(X, None, np.array(["", "b"]), np.array(["r", "s"])),
    ):
        for ending in ("csv", "parquet"):
            with pytest.raises(FileProblem, match="two columns would be called"):
                write_table(table, tmp_path / f"a.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_missing_labels_are_not_a_class(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,p\n2,\n3,NA\n")
    assert read_table(path, target="y").y.tolist() == ["p", None, None]


def test_numbers_with_a_slip_are_not_names_of_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1,2,0\n?,3,1\n4,5,1\n")
    with pytest.raises(FileProblem, match=r"column 'a' holds text \('\?' in row 2\)"):
        read_table(path, target="y")


def test_names_with_newlines_and_brackets(tmp_path):
    names = np.array(["a\nb", "c[1]", "c1"])
    write_table(Table(np.eye(3), feature_names=names), tmp_path / "a.csv")
    table = read_table(tmp_path / "a.csv")
    assert table.feature_names.tolist() == names.tolist()
    np.testing.assert_array_equal(table.X, np.eye(3))
    assert read_table(tmp_path / "a.csv", include=["c[1]"]).feature_names.tolist() == ["c[1]"]


def test_index_of_pandas_is_names_of_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    for index in (["x", "y"], [7, 9]):
        frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}, index=index)
        frame.rename_axis("sample").to_parquet(tmp_path / "a.parquet")
        table = read_table(tmp_path / "a.parquet")
        assert table.feature_names.tolist() == ["a", "b"]
        assert table.row_names.tolist() == [str(name) for name in index]


@pytest.mark.parametrize("index", [10**8, -5])
def test_damaged_sparse_matrices_are_refused(tmp_path, index):
    X = sp.csr_matrix(np.eye(4))
    X.indices[2] = index
    sp.save_npz(tmp_path / "a.npz", X)
    with pytest.raises(FileProblem, match=r"a\.npz is damaged"):
        read_table(tmp_path / "a.npz")


def test_svmlight_from_any_matrix(tmp_path):
    unsorted = sp.csr_array((np.ones(4), [2, 0, 1, 1], [0, 2, 4]), shape=(2, 5))
    groups = np.array(["b", "a"])
    write_table(Table(unsorted, np.array([True, False]), groups=groups), tmp_path / "a.svm")
    back = read_table(tmp_path / "a.svm")
    assert back.X.toarray().tolist() == [[1, 0, 1, 0, 0], [0, 2, 0, 0, 0]]
    assert back.y.tolist() == [1, 0] and back.groups.tolist() == [1, 0]
    (tmp_path / "b.svm").write_text("1 qid:3 1:1\n0 2:1\n")
    write_table(read_table(tmp_path / "b.svm"), tmp_path / "c.svm")
    assert read_table(tmp_path / "c.svm").groups.tolist() == [3, -1]
    write_table(Table(np.array([[True, False]])), tmp_path / "d.svm")
    assert read_table(tmp_path / "d.svm").X.toarray().tolist() == [[1, 0]]


@pytest.mark.parametrize("dtype", [">f8", np.longdouble, np.float16, bool, np.int32, ">i2"])
def test_numbers_of_unusual_types(tmp_path, dtype):
    np.savez(tmp_path / "a.npz", X=np.array([[0, 1], [1, 0]], dtype=dtype))
    table = read_table(tmp_path / "a.npz")
    for ending in ("csv", "parquet", "arrow", "svm", "h5ad", "mtx"):
        write_table(table, tmp_path / f"b.{ending}", force=True)
        back = read_table(tmp_path / f"b.{ending}").X
        dense = back if isinstance(back, np.ndarray) else back.toarray()
        np.testing.assert_array_equal(dense, [[0, 1], [1, 0]])


def test_files_that_are_something_else(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "a.npy").rename(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", X=np.eye(3))
    (tmp_path / "c.npz").rename(tmp_path / "d.npy")
    (tmp_path / "e.mtx").write_text("a,b\n" + "1,2\n" * 50)
    (tmp_path / "f.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 x\n")
    (tmp_path / "g.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    np.savez(tmp_path / "h.npz", X=np.eye(3), y=5)
    np.savez(tmp_path / "i.npz", X=np.eye(3), y=[1, 2])
    np.savez(tmp_path / "j.npz", X=np.eye(3), y=np.array(["2026"] * 3, dtype="M8[Y]"))
    for name in ("b.npz", "d.npy", "e.mtx", "f.mtx", "g.csv", "h.npz", "i.npz", "j.npz"):
        with pytest.raises(FileProblem, match=name.replace(".", r"\.")):
            read_table(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileProblem, match="is not a plain file"):
        read_table(tmp_path / "pipe.csv")


def test_hdf5_that_holds_something_else(tmp_path):
    h5py = pytest.importorskip("h5py")
    for part in ("X", "obs", "var"):
        write_table(example(), tmp_path / "a.h5ad", force=True)
        with h5py.File(tmp_path / "a.h5ad", "a") as file:
            del file[part]
            file.create_group(part)
        with pytest.raises(FileProblem, match=r"a\.h5ad"):
            read_table(tmp_path / "a.h5ad")
    with pytest.raises(FileProblem, match=r"a\.h5 is HDF5, which does not say what is data in it"):
        read_table(tmp_path / "a.h5")


with zipfile.ZipFile(Path(__file__).with_name("damaged.zip")) as archive:
    DAMAGED = {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("name", DAMAGED)
def test_files_that_broke_a_reader_once(tmp_path, name):
    """Found by `benchmarks.fuzz`: crashes, hangs, foreign errors, and terabytes asked for."""
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    start = time.monotonic()
    with pytest.raises(FileProblem) as caught:
        read_table(path, numbers_only=True)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    assert time.monotonic() - start < 10  # HDF5 is given four seconds


def test_shapes_that_a_file_cannot_hold(tmp_path):
    write_table(example(), tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "a") as file:
        del file["X"]
        file.create_dataset("X", shape=(10**6, 10**6), dtype="f8", chunks=(100, 100))
    with pytest.raises(FileProblem, match=r"says that /X has the shape .* but holds little of it"):
        read_table(tmp_path / "a.h5ad")
    header = "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1.0\n"
    (tmp_path / "a.mtx").write_text(header)
    with pytest.raises(FileProblem, match=r"it has 1,000,000,000 rows, but only 1 entries; if so"):
        read_table(tmp_path / "a.mtx")


def test_tables_that_are_read_in_several_blocks(tmp_path, monkeypatch):
    """Numbers that turn out not to be whole, or no numbers at all, and line breaks in quotes."""
    lines = ["id,whole,real,mixed,late,label"]
    lines += [f'"row\n{i}",{i},{i if i < 40 else i + 0.5},{i if i < 70 else "x"},,{i % 2}'
              for i in range(80)]  # fmt: skip
    lines += ['"row\n80",80,9223372036854775807,y,7,1']
    (tmp_path / "a.csv").write_text("\n".join(lines))
    asked = {"target": "label", "exclude": ["mixed"]}
    whole = read_table(tmp_path / "a.csv", **asked)
    for size in (20, 64, 333):
        monkeypatch.setattr(csv, "LINES", size)
        found = read_table(tmp_path / "a.csv", **asked)
        np.testing.assert_array_equal(found.X, whole.X)
        assert found.y.tolist() == whole.y.tolist()
        assert found.row_names.tolist() == whole.row_names.tolist()
        assert read_table(tmp_path / "a.csv", target="mixed").y.tolist() == [
            *map(str, range(70)), *["x"] * 10, "y"
        ]  # fmt: skip
    assert whole.X[:, 1].tolist()[38:42] == [38.0, 39.0, 40.5, 41.5]


def test_a_quote_that_is_never_closed_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "LINES", 1 << 16)
    rows = "".join(f"{i},{i}\n" for i in range(300_000))
    (tmp_path / "a.csv").write_text('a,b\n1,"2\n' + rows)
    start = time.monotonic()
    with pytest.raises(FileProblem):
        read_table(tmp_path / "a.csv")
    assert time.monotonic() - start < 20


@pytest.fixture
def clinic(tmp_path):
    """Data with named rows, and a table with other names for them, in another order."""
    lines = ["id,a,b", *(f"patient {i},{i},{i * i}" for i in range(6))]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    order = [3, 1, 5, 0, 2, 4]
    rows = ["sample,subject,age,kind"]
    rows += [f"S{i},patient {i},{40 + i},{'sick' if i % 2 else 'well'}" for i in order]
    (tmp_path / "clinic.csv").write_text("\n".join(rows))
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npz", "h5ad"])
def test_rows_are_matched_by_the_names_of_both_sides(clinic, ending):
    path = clinic / f"data.{ending}"
    if ending != "csv":
        write_table(read_table(clinic / "data.csv"), path)
    table = read_table(path, target=f"{clinic}/clinic.csv:kind")
    assert table.y.tolist() == ["well", "sick"] * 3
    assert any("matched by column 'subject' of" in text for text in table.assumed)


def test_rows_that_do_not_match_are_refused(clinic):
    """Nothing, or only some, of the names: three of each side are shown, with what settles it."""
    data, target = clinic / "data.csv", f"{clinic}/clinic.csv:kind"
    text = (clinic / "clinic.csv").read_text()
    (clinic / "clinic.csv").write_text(text.replace("patient ", "P-"))
    refused = (
        r"6 of 6 rows are not in column 'sample' of .*clinic\.csv: the data have patient 0, "
        r"patient 1, patient 2, that column has S3, S1, S5; .* as by,.* pass by_order=True\."
    )
    with pytest.raises(FileProblem, match=refused):
        read_table(data, target=target)
    table = read_table(data, target=target, by_order=True)
    assert table.y.tolist() == ["sick", "sick", "sick", "well", "well", "well"]
    assert table.assumed[-1].endswith("are taken in the order they are in")
    with pytest.raises(FileProblem, match=r"rows are not in column 'age' of"):
        read_table(data, target=target, by="age")
    with pytest.raises(FileProblem, match=r"there is no column in .* called 'Sample'"):
        read_table(data, target=target, by="Sample")
    with pytest.raises(
        FileProblem, match=r"by a column, by, or in their order, by_order, not both"
    ):
        read_table(data, target=target, by="age", by_order=True)
    (clinic / "clinic.csv").write_text(text.replace("patient 4", "patient 9"))
    with pytest.raises(FileProblem, match=r"1 of 6 rows are not in column 'subject'"):
        read_table(data, target=target)
    (clinic / "clinic.csv").write_text(text.replace("S", "patient "))  # in two columns, differently
    assert read_table(data, target=target, by="sample").y.tolist() == ["well", "sick"] * 3
    (clinic / "kinds.txt").write_text("a\nb\n" * 3)  # which has no names
    groups = read_table(data, target=target, by="sample", groups=f"{clinic}/kinds.txt").groups
    assert groups.tolist() == ["a", "b"] * 3
    np.savez(
        clinic / "kinds.npz", y=[1, 0] * 3, row_names=[f"patient {i}" for i in range(5, -1, -1)]
    )
    assert read_table(data, target=f"{clinic}/kinds.npz").y.tolist() == [0, 1] * 3


def test_names_that_occur_twice_are_refused_wherever_they_are(tmp_path):
    (tmp_path / "words.txt").write_text("the\nof\nthe\n")
    np.save(tmp_path / "X.npy", np.eye(3))
    with pytest.raises(FileProblem, match=r"words\.txt has several columns called 'the'; rename"):
        read_table(tmp_path / "X.npy", names=str(tmp_path / "words.txt"))
    table = read_table(
        tmp_path / "X.npy", names=str(tmp_path / "words.txt"), number_duplicates=True
    )
    assert table.feature_names.tolist() == ["the", "of", "the.1"]


def test_other_ways_to_take_the_rows_of_another_file(clinic):
    data = clinic / "data.csv"
    text = "mate,id,kind\n" + "".join(f"patient {5 - i},patient {i},{i % 2}\n" for i in range(6))
    (clinic / "two.csv").write_text(text)
    with pytest.raises(FileProblem, match=r"columns 'mate' and 'id' of .* both have the names of"):
        read_table(data, target=f"{clinic}/two.csv:kind")
    assert read_table(data, target=f"{clinic}/two.csv:kind", by="id").y.tolist() == [0, 1] * 3
    (clinic / "numbers.csv").write_text("id,a\n" + "".join(f"{i},{i * i}\n" for i in range(6)))
    (clinic / "kinds.csv").write_text("id,kind\n" + "".join(f"{5 - i},{i % 2}\n" for i in range(6)))
    with pytest.raises(FileProblem, match=r"both have a column 'id' with the same values; if it"):
        read_table(clinic / "numbers.csv", target=f"{clinic}/kinds.csv:kind")
    found = read_table(clinic / "numbers.csv", target=f"{clinic}/kinds.csv:kind", by_order=True)
    assert found.y.tolist() == [0, 1] * 3
    with pytest.raises(FileProblem, match=r"do not name their rows, so 'kind' of .* names none"):
        read_table(clinic / "numbers.csv", target=f"{clinic}/two.csv:mate", by="kind")
    np.savez(clinic / "y.npz", y=np.linspace(0, 1, 6))
    assert read_table(data, target=f"{clinic}/y.npz").y[1] == 0.2
    with pytest.raises(FileProblem, match=r"y\.npz has no column 'foo' to name its rows"):
        read_table(data, target=f"{clinic}/y.npz", by="foo")
    np.save(clinic / "zero.npy", np.array(3))
    with pytest.raises(FileProblem, match=r"holds an array of 0 dimensions, not a column"):
        read_table(data, target=f"{clinic}/zero.npy")


def test_files_of_labels_line_by_line(clinic):
    data, labels = clinic / "data.csv", clinic / "labels.txt"
    labels.write_text("kind\n" + "p\nq\n" * 3)
    table = read_table(data, target=str(labels))
    assert table.y.tolist() == ["p", "q"] * 3
    assert table.assumed[-1].endswith("in the order they are in, below a heading, 'kind'")
    labels.write_text("7\n" + "0\n1\n" * 3)
    with pytest.raises(FileProblem, match=r"has 7 values for 6 rows"):
        read_table(data, target=str(labels))
    labels.write_text("p\n\nq\np\nq\np\n")
    with pytest.raises(FileProblem, match=r"labels\.txt has nothing in line 2; fill it"):
        read_table(data, target=str(labels))


def test_labels_are_what_all_of_them_are(tmp_path):
    path = tmp_path / "a.csv"

    def labels(*words):
        path.write_text("\n".join(["x,y", *(f"{i},{word}" for i, word in enumerate(words))]))
        whole, stream = read_table(path, target="y"), read_table(path, target="y", stream=True)
        assert whole.y.tolist() == stream.y.tolist() and whole.y.dtype == stream.y.dtype
        return whole.y.tolist()

    assert labels("1", "0", "1") == [1, 0, 1]
    assert labels("1.5", "0", "1") == [1.5, 0, 1]
    assert labels("01", "1", "1") == ["01", "1", "1"]
    assert labels("1", "true", "false") == ["1", "true", "false"]
    assert labels("True", "false", "true") == [True, False, True]
    long = ["12345678901234567890", "12345678901234567891", "5"]
    assert labels(*long) == long
    dates = labels("2026-01-01", "2026-01-02", "2026-01-02")
    assert dates[0] == datetime.date(2026, 1, 1)


def test_other_things_in_an_archive_do_not_matter(tmp_path):
    path = tmp_path / "a.npz"
    meta = np.array({"made": "by hand"}, dtype=object)
    np.savez(path, X=np.eye(3), y=[0, 1, 0], meta=meta)
    assert read_table(path).X.tolist() == np.eye(3).tolist()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("README", "hello")
    np.testing.assert_array_equal(read_table(path).y, [0, 1, 0])


def test_virtual_datasets_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["X"] = np.ones((9000, 1000))
    layout = h5py.VirtualLayout((9000, 1000), "f8")
    layout[:] = h5py.VirtualSource(tmp_path / "part.h5", "X", (9000, 1000))
    write_table(Table(np.zeros((9000, 1000))), tmp_path / "whole.h5ad")
    with h5py.File(tmp_path / "whole.h5ad", "a") as file:
        del file["X"]
        file.create_virtual_dataset("X", layout)
    assert read_table(tmp_path / "whole.h5ad").X.sum() == 9_000_000
