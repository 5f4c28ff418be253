"""Column stores: written in bounded memory, whole or not at all, read as data in memory are."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mmfs import (
    FCBF,
    FGM,
    GDM,
    MMFS,
    MMFSCV,
    MMFSIC,
    MRMR,
    QPFS,
    SVMRFE,
    KnockoffSelector,
    MaxRel,
    StabilitySelector,
    compare,
    mmfs_path,
    open_store,
    write_store,
)
from mmfs.io import Asked, FileProblem, convert_to_store, read_table
from mmfs.io import external_sort as runs_module
from mmfs.solvers import tuning
from mmfs.sources import StoreProblem
from mmfs.sources.store import CHECKED, checksum_of, file_checksum, header_checksum
from tests.elsewhere import ELSEWHERE

pytestmark = pytest.mark.slow


def example(n_rows=90, n_columns=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.4)
    X[:, 5] = 0
    X[:, 7] = 3 * X[:, 2]
    y = X[:, 2] + X[:, 10] - X[:, 20] + 0.3 * rng.standard_normal(n_rows) > 0
    return X, y.astype(int)


def same(store, X):
    X = sp.csc_array(X)
    assert store.shape == X.shape
    assert np.array_equal(store.indptr, X.indptr)
    assert np.array_equal(store.indices, X.indices)
    assert np.array_equal(store.data, X.data, equal_nan=True)


@given(
    st.integers(1, 40), st.integers(1, 30), st.floats(0, 1), st.integers(1, 13),
    st.integers(32, 40_000), st.booleans(),
)  # fmt: skip
def test_parts_of_any_size_make_the_same_store(tmp_path_factory, m, n, density, height, memory, f4):
    rng = np.random.default_rng(m + 100 * n)
    X = rng.standard_normal((m, n)) * (rng.random((m, n)) < density)
    X = X.astype(np.float32 if f4 else np.float64)
    parts = [X[a : a + height] for a in range(0, m, height)]
    forms = [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array]
    path = tmp_path_factory.mktemp("any") / "store"
    mixed = ((forms[i % 4](part), np.arange(len(part))) for i, part in enumerate(parts))
    store = write_store(path, mixed, memory=memory)
    same(store, X)
    assert store.dtype == (np.float32 if f4 or not X.any() else np.float64)
    assert store.y.tolist() == [i % height for i in range(m)]
    assert [p.name for p in path.parent.iterdir()] == ["store"]


@pytest.mark.parametrize("place", ELSEWHERE)
def test_scans_are_as_many_as_in_memory(place, monkeypatch):
    X, y = example()
    found = MMFS(8).fit(ELSEWHERE[place](X), y)
    assert found.n_scans_ == MMFS(8).fit(X, y).n_scans_ == 2
    monkeypatch.setattr(tuning, "LEAST_ADDED", 5)
    found, here = (MMFS(gamma=0.01).fit(some, y) for some in (ELSEWHERE[place](X), X))
    assert found.n_scans_ == here.n_scans_ == found.n_iter_ + 1 > 3
    np.testing.assert_allclose(found.alpha_, here.alpha_, atol=1e-9)


@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.parametrize(
    "selector",
    [
        MMFS(8), MMFS(8, center=False), MMFS(8, solver="dcd", C=1.5), MMFS(8, kernel="poly2"),
        MMFS(5, relevance="binned_mutual_info"), MMFS(5, rank="path"), MMFS(30, gamma=0.01),
        MMFS(4, kernel="hsic", relevance="hsic"), MMFS(5, relevance="mutual_info", kernel="linear"),
        MaxRel(6), MRMR(6), FCBF(), QPFS(6), FGM(6), GDM(6),
        MRMR(6, criterion="FCQ"), FCBF(discretize="mdl"),
        MMFSCV(n_features=[2, 5], cv=3), StabilitySelector(MMFS(5), n_pairs=5),
    ],
    ids=str,
)  # fmt: skip
def test_the_same_selection_wherever_data_are(selector, place):
    X, y = example()
    data, dense = ELSEWHERE[place](X), place in ("dense_rows", "rows_of_rows")
    single = getattr(selector, "solver", "") == "dcd" or getattr(selector, "kernel", "") == "hsic"
    if single and (place.endswith("rows") or (place == "rows_of_store" and selector.C == 1.5)):
        with pytest.raises(ValueError, match=r"single columns|solver='dcd' cannot read"):
            selector.fit(data, y)
        return
    sparse = sp.csc_array(X)
    nearest = getattr(selector, "relevance", "") == "mutual_info"  # of dense data in memory alone
    known = selector.fit(X if dense and not nearest else sparse, y).indices_.tolist()
    found = selector.fit(data, y)
    assert found.indices_.tolist() == known
    assert found.n_features_in_ == 60
    out = found.transform(data)
    expected = X[:, np.sort(known)]
    np.testing.assert_array_equal(out.toarray() if sp.issparse(out) else out, expected)


@pytest.mark.parametrize("place", ELSEWHERE)
def test_paths_and_criteria_wherever_data_are(place):
    X, _ = example()
    y = X[:, 2] + X[:, 10] - X[:, 20] + 0.3 * np.random.default_rng(1).standard_normal(90)
    known, found = (MMFSIC().fit(data, y) for data in (sp.csc_array(X), ELSEWHERE[place](X)))
    assert found.indices_.tolist() == known.indices_.tolist()
    paths = [mmfs_path(data, y) for data in (sp.csc_array(X), ELSEWHERE[place](X))]
    np.testing.assert_allclose(paths[1].gammas, paths[0].gammas, rtol=1e-6)


def test_names_explanations_and_own_target(tmp_path):
    X, y = example()
    names = [f"gene {j} µ" for j in range(60)]
    store = write_store(tmp_path / "s", X, y, feature_names=names, groups=y, target_name="ill")
    assert list(store.feature_names) == names
    assert store.feature_names[-1] == names[-1]
    assert store.target_name == "ill"
    assert store.groups.tolist() == y.tolist()
    selector = MMFS(5).fit(store)
    assert selector.feature_names_in_.tolist() == names
    frame = selector.explain(store)
    expected = MMFS(5).fit(sp.csc_array(X), y).explain(sp.csc_array(X), names=names)
    assert frame.why.tolist() == expected.why.tolist()
    assert frame.index.tolist() == expected.index.tolist()
    assert selector.explain(str(store.path)).equals(frame)
    copy = pickle.loads(pickle.dumps(store))
    assert copy.path == store.path and np.array_equal(copy.data, store.data)


def test_columns_without_entries_are_left_out(tmp_path):
    X, y = example()
    wide = sp.csc_array((90, 50_000)).tolil()
    wide[:, np.arange(60) * 800] = X
    wide = sp.csc_array(wide)
    store = write_store(tmp_path / "s", wide, y)
    assert MMFS(8).fit(store).indices_.tolist() == MMFS(8).fit(wide, y).indices_.tolist()


@pytest.mark.parametrize("place", ["store", "csr_rows"])
@pytest.mark.parametrize(
    "fit", [SVMRFE(3).fit, KnockoffSelector().fit, compare], ids=["SVMRFE", "knockoffs", "compare"]
)
def test_what_needs_data_in_memory_says_so(fit, place):
    X, y = example()
    data = ELSEWHERE[place](X)
    with pytest.raises(ValueError, match=r"needs X in memory, .* pass X\[:, columns\]\.$"):
        fit(data, y)


def refused(store, message):
    with pytest.raises(StoreProblem, match=message) as caught:
        MMFS(2).fit(store)
    assert str(caught.value).count(". ") == 0


def damage(path, offset=-8):
    with path.open("r+b") as file:
        file.seek(offset, os.SEEK_END)
        byte = file.read(1)
        file.seek(offset, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("name", ["data", "indices"])
def test_damaged_entries_are_refused_when_read(tmp_path, name):
    X, y = example()
    path = write_store(tmp_path / "s", X, y).path
    damage(path / f"{name}.npy")
    store = open_store(path)  # not looked at yet
    refused(store, "is damaged: entries from column")
    with pytest.raises(StoreProblem, match="is damaged"):
        MMFS(2).fit(store[:80], y[:80])
    with pytest.raises(StoreProblem, match="is damaged"):
        store.check()


@pytest.mark.parametrize("name", ["indptr", "checksums", "y"])
def test_damaged_files_are_refused(tmp_path, name):
    X, y = example()
    path = write_store(tmp_path / "s", X, y).path
    damage(path / f"{name}.npy", -3)
    refused(str(path), rf"{name}.npy is damaged; convert the data again\.")


def crafted(path, header=None, **arrays):
    """Change a store so that all its checksums are right again."""
    if {"indices", "data"} & set(arrays):
        entries = [arrays.get(name, np.load(path / f"{name}.npy")) for name in ("indices", "data")]
        portions = range(-(-len(entries[0]) // CHECKED))
        checksums = [checksum_of(*entries, i) for i in portions]
        arrays["checksums"] = np.array(checksums, dtype=np.uint32)
    found = json.loads((path / "header.json").read_text()) | (header or {})
    for name, array in arrays.items():
        file = path / f"{name}.npy"
        file.unlink()  # it is mapped
        file.write_bytes(array) if isinstance(array, bytes) else np.save(file, array)
        found["files"][name] = {"bytes": file.stat().st_size, "checksum": file_checksum(file)}
    found["checksum"] = header_checksum(found)
    (path / "header.json").write_text(json.dumps(found))


def with_value(array, at, value):
    array = array.copy()
    array[at] = value
    return array


CRAFTED = {
    "starts beyond the entries": lambda s: {"indptr": with_value(s.indptr, 5, 10**6)},
    "starts that fall": lambda s: {"indptr": with_value(s.indptr, 5, s.indptr[4] - 3)},
    "starts below 0": lambda s: {"indptr": with_value(s.indptr, 0, -5)},
    "starts of another length": lambda s: {"indptr": s.indptr[1:]},
    "starts of another type": lambda s: {"indptr": s.indptr.astype(">i8")},
    "starts in a matrix": lambda s: {"indptr": s.indptr.reshape(1, -1)},
    "row numbers below 0": lambda s: {"indices": with_value(s.indices, 7, -4)},
    "row numbers beyond the rows": lambda s: {"indices": with_value(s.indices, 7, s.shape[0])},
    "rows that do not rise": lambda s: {"indices": with_value(s.indices, 8, s.indices[7])},
    "row numbers of another type": lambda s: {"indices": s.indices.astype(np.int64)},
    "values of another type": lambda s: {"data": s.data.astype(np.int64)},
    "fewer values": lambda s: {"data": s.data[:-1]},
    "y of another length": lambda s: {"y": np.zeros(3)},
    "y of three dimensions": lambda s: {"y": np.zeros((s.shape[0], 1, 1))},
    "y of dates": lambda s: {"y": np.zeros(s.shape[0], dtype="M8[s]")},
    "an empty file": lambda s: {"y": b""},
    "no NumPy file": lambda s: {"y": b"\x93NUMPY\x01\x00\x10\x00{'descr': ((((\n"},
    "names that end beyond their bytes": lambda s: {
        "feature_names_ends": with_value(s.feature_names.ends, -1, 10**9)
    },
    "names that end before they begin": lambda s: {
        "feature_names_ends": with_value(s.feature_names.ends, 3, 0)
    },
    "fewer names": lambda s: {"feature_names_ends": s.feature_names.ends[:-1]},
    "fewer checksums": lambda s: {"checksums": s.checksums[:0]},
    "10^12 columns": lambda s: {"header": {"shape": [s.shape[0], 10**12]}},
    "more rows than can be": lambda s: {"header": {"shape": [10**12, s.shape[1]]}},
    "a shape of text": lambda s: {"header": {"shape": "ab"}},
    "a shape of truth": lambda s: {"header": {"shape": [True, True]}},
    "entries below 0": lambda s: {"header": {"entries": -1}},
    "a list of files": lambda s: {"header": {"files": []}},
    "no files": lambda s: {"header": {"files": {}}},
    "a file without a size": lambda s: {"header": {"files": {"indptr": {"bytes": None}}}},
    "a nested number": lambda s: {"header": {"numbered_from": [1]}},
    "a nested name": lambda s: {"header": {"target_name": {"a": 1}}},
}


@pytest.mark.parametrize("how", CRAFTED)
def test_crafted_stores_are_refused(tmp_path, how):
    """Nothing that a file says is used before it is checked, right checksums or not."""
    X, y = example()
    names = [f"feature {j}" for j in range(X.shape[1])]
    store = write_store(tmp_path / "s", X, y, feature_names=names)
    crafted(store.path, **CRAFTED[how](store))
    refused(store.path, r"is damaged|has \d+ bytes instead of")
    with pytest.raises(StoreProblem, match="damaged"):
        open_store(store.path)[:, [0, 1, 2]]


def test_headers_that_are_no_headers_are_refused(tmp_path):
    path = write_store(tmp_path / "s", *example()).path
    for text in ("[" * 100_000, '{"format": ' + "9" * 10_000, "\x00", '"' + "a" * (1 << 20) + '"'):
        (path / "header.json").write_text(text)
        refused(path, "not the header of a column store")


def test_names_that_are_no_text_are_shown(tmp_path):
    X, y = example()
    names = ["\xe4", *(f"{j}" for j in range(1, X.shape[1]))]
    store = write_store(tmp_path / "s", X, y, feature_names=names)
    letters = with_value(store.feature_names.letters, 1, 0xFF)
    crafted(store.path, feature_names_bytes=letters)
    assert open_store(store.path).feature_names[0] == "\ufffd" * 2


def test_truncated_missing_and_foreign_stores_are_refused(tmp_path):
    X, y = example()
    path = write_store(tmp_path / "s", X, y).path
    header = json.loads((path / "header.json").read_text())
    (path / "header.json").write_text(json.dumps(header | {"version": 2}))
    refused(path, "of version 2, but this mmfs reads version 1")
    (path / "header.json").write_text(json.dumps(header | {"shape": [90, 61]}))
    refused(path, "header.json is damaged")
    (path / "header.json").write_text("{}")
    refused(path, "not the header of a column store")
    (path / "header.json").write_text("{")
    refused(path, "not the header of a column store")
    (path / "header.json").write_text(json.dumps(header))
    os.truncate(path / "data.npy", 500)
    refused(path, "data.npy has 500 bytes instead of")
    (path / "data.npy").unlink()
    refused(path, "data.npy is missing")
    refused(tmp_path, "is not a column store: there is no")
    refused(tmp_path / "nothing", "is not a column store: there is no")
    refused(path / "y.npy", "is a file, not a column store")


def test_mistakes_with_stores_get_one_sentence(tmp_path):
    X, y = example()
    store = write_store(tmp_path / "s", X)
    with pytest.raises(ValueError, match=r"y is missing, and the column store .* has none"):
        MMFS(2).fit(store)
    with pytest.raises(ValueError, match=r"y has 89 rows, but X, the column store .*, has 90"):
        MMFS(2).fit(store, y[:-1])
    with pytest.raises(ValueError, match="in rising order"):
        store[[3, 1]]
    with pytest.raises(ValueError, match="fitted on 60"):
        MMFS(2).fit(store, y).transform(write_store(tmp_path / "t", X[:, :50]))
    with pytest.raises(FileProblem, match=r"s exists; pass force"):
        write_store(tmp_path / "s", X)
    assert write_store(tmp_path / "s", X[:50], force=True).shape == (50, 60)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("precious")
    with pytest.raises(FileProblem, match="exists and is not a column store"):
        write_store(tmp_path / "notes", X, force=True)
    with pytest.raises(FileProblem, match="there is no folder"):
        write_store(tmp_path / "no" / "s", X)
    with pytest.raises(ValueError, match="y has 5 values for 90 rows"):
        write_store(tmp_path / "u", X, y[:5])
    with pytest.raises(ValueError, match="must be an array or a sparse matrix"):
        write_store(tmp_path / "u", [[1.0, 2.0]])
    with pytest.raises(FileProblem, match="no rows"):
        write_store(tmp_path / "u", iter(()))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes", "s", "t"]


def test_a_generator_may_use_its_memory_again(tmp_path):
    y = example()[1]
    labels, sparse = np.empty(10, dtype=int), sp.csr_array(np.ones((10, 3)))

    def parts():
        for a in range(0, 90, 10):
            labels[:] = y[a : a + 10]
            sparse.data[:] = a + 1.0
            yield sparse, labels

    store = write_store(tmp_path / "s", parts())
    assert store.y.tolist() == y.tolist()
    assert store[:, 1].toarray()[::10, 0].tolist() == [a + 1.0 for a in range(0, 90, 10)]


def test_labels_are_all_there_and_stay_what_they_are(tmp_path):
    X, y = example()
    with pytest.raises(ValueError, match="y has no label in row 3"):
        write_store(tmp_path / "s", X, [None if i == 3 else "a" for i in range(90)])
    with pytest.raises(ValueError, match="some parts come with y and others without"):
        write_store(tmp_path / "s", [(X[:50], y[:50]), X[50:]])
    texts = np.where(y, "1e5", "nan")
    assert write_store(tmp_path / "s", [(X, texts)]).y.tolist() == texts.tolist()


def test_nothing_else_is_lost(tmp_path, monkeypatch):
    X, y = example()
    for name in ("a", ".b.unfinished"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "header.json").write_text("{}")
        (tmp_path / name / "thesis.txt").write_text("precious")
    with pytest.raises(FileProblem, match="not a column store"):
        write_store(tmp_path / "a", X, force=True)
    with pytest.raises(FileProblem, match="in the way"):
        write_store(tmp_path / "b", X, force=True)
    store = write_store(tmp_path / "c", X, y)
    (store.path / "notes.txt").write_text("precious")
    with pytest.raises(FileProblem, match="not that alone"):
        write_store(tmp_path / "c", X, force=True)
    (store.path / "notes.txt").unlink()
    rename = os.rename

    def fails(old, new):
        if new == store.path and old.name == "store":
            raise KeyboardInterrupt
        rename(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fails)
        with pytest.raises(KeyboardInterrupt):
            write_store(tmp_path / "c", 2 * X, force=True)
    same(open_store(tmp_path / "c"), X)
    rename(tmp_path / "c", tmp_path / ".c.old")  # as if killed there
    same(write_store(tmp_path / "c", 3 * X), 3 * X)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.unfinished", "a", "c"]
    assert all((tmp_path / name / "thesis.txt").exists() for name in ("a", ".b.unfinished"))


NO_MATRIX = {
    "1 dimensions": lambda: np.ones(5),
    "no columns": lambda: np.ones((4, 0)),
    "type complex128": lambda: np.ones((2, 2)) * 1j,
    "type <U1": lambda: np.array([["a"]]),
    "give parts": lambda: iter([np.ones(5)]),
}


@pytest.mark.parametrize("message", NO_MATRIX)
def test_what_is_no_matrix_of_numbers(tmp_path, message):
    with pytest.raises(ValueError, match=message):
        write_store(tmp_path / "s", NO_MATRIX[message]())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["<f2", ">f4", ">f8", "i2", "?"])
def test_numbers_of_any_kind(tmp_path, kind):
    X = np.rint(3 * example()[0]).astype(kind)
    same(write_store(tmp_path / "s", X), X.astype(float))
    same(write_store(tmp_path / "t", iter([X])), X.astype(float))


def test_trouble_of_the_source_is_not_that_of_the_store(tmp_path):
    def parts():
        yield np.ones((3, 3))
        (tmp_path / "nothing").read_text()

    with pytest.raises(FileNotFoundError, match="nothing"):
        write_store(tmp_path / "s", parts())
    assert list(tmp_path.iterdir()) == []


def test_parts_must_fit_together(tmp_path):
    X, _ = example()
    for parts in ([X, X[:, :50]], [X[:, :50], X]):
        with pytest.raises(ValueError, match="columns, but the first has"):
            write_store(tmp_path / "s", iter(parts))
    with pytest.raises(ValueError, match="not numbers"):
        write_store(tmp_path / "s", iter([X.astype(str)]))
    with pytest.raises(ValueError, match="not numbers"):
        write_store(tmp_path / "s", iter([X * 1j]))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_was_replaced_is_not_mixed_up(tmp_path):
    pytest.importorskip("dask")
    X, y = example()
    array = write_store(tmp_path / "s", X, y).to_dask()
    write_store(tmp_path / "s", 2 * X, y, force=True)
    with pytest.raises(StoreProblem, match="was replaced since"):
        array.compute()


def test_nan_is_kept_and_seen_at_the_fit(tmp_path):
    X, y = example()
    X[3, 4] = np.nan
    store = write_store(tmp_path / "s", X, y)
    with pytest.raises(ValueError, match="NaN in row 3, column 4"):
        MMFS(2, missing="refuse").fit(store)
    assert MMFS(2).fit(store).n_missing_ == 1


# --- from files ---------------------------------------------------------------------------------


def write(folder, kind, X, y):
    """A file of that kind; the target is in it where it can be."""
    path = folder / f"data.{kind}"
    if kind.startswith("svm"):
        lines = []
        for label, row in zip(y, X, strict=True):
            entries = " ".join(f"{j + 1}:{float(x)!r}" for j, x in enumerate(row) if x)
            lines.append(f"{label} {entries}\n")
        text = "".join(lines).encode()
        if kind.endswith("gz"):
            import gzip

            text = gzip.compress(text)
        path.write_bytes(text)
    elif kind == "npz":
        sp.save_npz(path, sp.csr_array(X))
        with np.load(path) as parts:
            np.savez_compressed(path, **dict(parts), y=y)
    elif kind == "npy":
        np.save(path, X)
    else:
        import pandas

        frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
        frame.insert(7, "ill", np.where(y, "yes", "no"))
        if kind == "parquet":
            frame.to_parquet(path, index=False, row_group_size=13)
        else:
            frame.to_csv(path, index=False, sep="\t" if kind.startswith("tsv") else ",")
    return path


KINDS = ["svm", "svm.gz", "npz", "npy", "parquet", "csv", "tsv.gz"]


def asked(path, **more):
    target = {"target": "ill"} if path.name.split(".")[1] in ("parquet", "csv", "tsv") else {}
    return Asked(path, **target, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_from_files_of_every_kind(tmp_path, monkeypatch, kind):
    from mmfs.io import chunks, csv, svmlight

    monkeypatch.setattr(chunks, "SIZE", 600)
    monkeypatch.setattr(svmlight, "CHUNK", 1000)
    monkeypatch.setattr(csv, "LINES", 5000)
    X, y = example()
    path = write(tmp_path, kind, X, y)
    whole = asked(path).read()
    store = convert_to_store(asked(path), tmp_path / "store", memory=1 << 12)
    same(store, X)
    streamed = read_table(path, target=whole.target_name, stream=True)
    for table in (store, streamed):
        if whole.y is not None:
            assert table.y.tolist() == whole.y.tolist()
        if whole.feature_names is not None:
            assert list(table.feature_names) == whole.feature_names.tolist()
        assert table.target_name == whole.target_name
    labels = y if whole.y is None else whole.y
    expected = MMFS(6).fit(whole.X, labels).indices_.tolist()
    assert MMFS(6).fit(store, labels).indices_.tolist() == expected
    assert MMFS(6).fit(streamed.X, labels).indices_.tolist() == expected


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "labels",
    [
        ["000", "001", "002"], ["true", "false", "true"], ["1", "2", "3"], ["1.5", "2.5", "3"],
        ["a", "b", "a, b"], ["9007199254740993", "1", "2"]
    ],
    ids=str,
)  # fmt: skip
def test_labels_are_read_as_in_memory(tmp_path, kind, labels):
    import pandas

    X, _ = example()
    frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(60)])
    frame["label"] = (labels * 30)[:90]
    frame["none"] = np.where(np.arange(90) == 4, np.nan, 1.0)
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        frame.to_csv(path)  # with a first column that has no name
    else:
        frame["flag"] = frame.g1 > 0
        frame.to_parquet(path, index=False)
    how = {"target": "label", "groups": "flag" if kind == "parquet" else "label"}
    whole = read_table(path, **how)
    store = convert_to_store(Asked(path, **how), tmp_path / "s")
    for found in (store, read_table(path, stream=True, **how)):
        assert found.y.dtype.kind == whole.y.dtype.kind
        assert found.y.tolist() == whole.y.tolist()
        assert found.groups.tolist() == whole.groups.tolist()
        assert list(found.feature_names) == whole.feature_names.tolist()
    assert np.isnan(store[:, whole.feature_names.tolist().index("none")].toarray()[4, 0])


def test_a_file_that_changes_between_passes_is_noticed(tmp_path):
    X, y = example()
    path = write(tmp_path, "csv", X, y)
    table = read_table(path, target="ill", stream=True)
    text = path.read_text()
    path.write_text(text.replace("g1,g2", "g2,g1"))
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileProblem, match="has changed since it was opened"):
        MMFS(3).fit(table.X, table.y)


def test_filters_other_targets_and_whole_reading(tmp_path):
    X, y = example()
    path = write(tmp_path, "csv", X, y)
    store = convert_to_store(asked(path, include=["g1*"], exclude=["g10"]), tmp_path / "a")
    assert list(store.feature_names) == ["g1", *(f"g{j}" for j in range(11, 20))]
    (tmp_path / "labels.txt").write_text("".join(f"{label}\n" for label in y))
    path = write(tmp_path, "npy", X, y)
    labels = str(tmp_path / "labels.txt")
    store = convert_to_store(Asked(path, target=labels), tmp_path / "b")
    assert store.y.tolist() == y.tolist()
    store = convert_to_store(Asked(path, transpose=True), tmp_path / "c")
    same(store, X.T)
    with pytest.raises(FileProblem, match="cannot be read row by row"):
        read_table(path, transpose=True, stream=True)
    table = read_table(tmp_path / "b", target=labels)
    assert table.y.tolist() == y.tolist() and table.X.shape == X.shape


def interrupted(path, place, monkeypatch):
    """A conversion that ends before its runs are merged."""

    def merge(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runs_module.Runs, "merge", merge)
        with pytest.raises(KeyboardInterrupt):
            convert_to_store(asked(path), place, memory=1 << 12)


def test_blank_stretches_of_a_table_do_not_count_as_parts(tmp_path, monkeypatch):
    from mmfs.io import csv

    monkeypatch.setattr(csv, "LINES", 3000)
    X, y = example()
    path = write(tmp_path, "csv", X, y)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:20], *[""] * 20_000, *lines[20:]]) + "\n")
    interrupted(path, tmp_path / "s", monkeypatch)
    same(convert_to_store(asked(path), tmp_path / "s", memory=1 << 12), X)


def test_numbers_of_columns_are_kept(tmp_path):
    from scipy.io import mmwrite

    X, _ = example()
    mmwrite(tmp_path / "counts.mtx", sp.coo_array(X))
    whole = read_table(tmp_path / "counts.mtx")
    store = convert_to_store(Asked(tmp_path / "counts.mtx"), tmp_path / "s")
    assert store.numbered_from == whole.numbered_from == 1
    with pytest.raises(FileProblem, match="is a column store already"):
        convert_to_store(Asked(tmp_path / "s"), tmp_path / "t")


def test_missing_labels_are_refused_while_converting(tmp_path):
    X, y = example()
    path = write(tmp_path, "csv", X, y)
    path.write_text(path.read_text().replace("yes", "", 1))
    with pytest.raises(FileProblem, match="column 'ill' has no label in some row"):
        convert_to_store(asked(path), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_text_among_numbers_is_refused(tmp_path):
    X, y = example()
    path = write(tmp_path, "csv", X, y)
    lines = path.read_text().splitlines()
    lines[60] = lines[60].replace(",", ",oops,", 1).rpartition(",")[0]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileProblem, match=r"g1.*text"):
        convert_to_store(asked(path), tmp_path / "s")
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


# --- accidents ----------------------------------------------------------------------------------

SLOW = """
import sys, time
from pathlib import Path
from mmfs.io import Asked, convert_to_store, external_sort, svmlight

svmlight.CHUNK = 1000
write, merge = external_sort.Runs._write, external_sort.Runs.merge

def slowly(self, *work):
    time.sleep(0.05)
    print("run", flush=True)
    return write(self, *work)

def merging(self, *work):
    print("merge", flush=True)
    time.sleep(0.05)
    return merge(self, *work)

external_sort.Runs._write, external_sort.Runs.merge = slowly, merging
print("parts before", len(list(Path(sys.argv[2]).parent.glob(".*.unfinished/runs/run-*[0-9]"))))
convert_to_store(Asked(Path(sys.argv[1])), Path(sys.argv[2]), memory=1 << 15)
print("done", flush=True)
"""


def test_killed_at_any_moment_and_gone_on_with(tmp_path):
    X, y = example(n_rows=300)
    path, place = write(tmp_path, "svm", X, y), tmp_path / "store"
    command = [sys.executable, "-c", SLOW, str(path), str(place)]
    runs_before, rng = [], np.random.default_rng(0)
    for _ in range(40):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        runs_before.append(int(process.stdout.readline().split()[-1]))
        wanted = int(rng.integers(1, 6))  # so many runs, then a moment more
        for _ in range(wanted):
            line = process.stdout.readline().strip()
            if line in ("done", ""):
                break
        if line == "done":
            break
        time.sleep(rng.random() * 0.06)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if place.exists():  # it was just finished
            same(open_store(place), X)
            break
    process.communicate()
    assert len(runs_before) > 3 and runs_before[-1] > runs_before[1] > 0
    store = open_store(place)
    same(store, X)
    store.check()
    assert store.y.tolist() == y.tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.svm", "store"]


def test_an_unfinished_store_of_another_source_is_not_gone_on_with(tmp_path, monkeypatch):
    from mmfs.io import svmlight

    monkeypatch.setattr(svmlight, "CHUNK", 1000)
    X, y = example()
    path = write(tmp_path, "svm", X, y)
    interrupted(path, tmp_path / "s", monkeypatch)
    left = tmp_path / ".s.unfinished"
    assert len(list((left / "runs").iterdir())) > 2
    assert not (tmp_path / "s").exists()
    write(tmp_path, "svm", 2 * X, 1 - y)
    store = convert_to_store(asked(path), tmp_path / "s", memory=1 << 12)
    same(store, 2 * X)
    assert store.y.tolist() == (1 - y).tolist()
    assert not left.exists()


def test_one_writer_at_a_time(tmp_path):
    X, _ = example()

    def parts():
        yield X
        with pytest.raises(FileProblem, match="another process is writing"):
            write_store(tmp_path / "s", X)
        yield X

    same(write_store(tmp_path / "s", parts()), np.vstack([X, X]))


@pytest.mark.parametrize("kilobytes", [300, 400, 500, 700, 1000])
def test_a_full_disk_is_named(small_disk, tmp_path, kilobytes):
    """Also one that is full when the store's files, which are mapped into memory, are filled."""
    remount = ["mount", "-o", f"remount,size={kilobytes}k", str(small_disk)]
    subprocess.run(remount, check=True)
    X = np.random.default_rng(0).standard_normal((300, 100))
    source = tmp_path / "X.npy"
    np.save(source, X)
    command = [sys.executable, "-m", "mmfs", "convert", str(source), str(small_disk / "s")]
    done = subprocess.run(command, capture_output=True, text=True)
    if kilobytes == 1000:
        assert done.returncode == 0 and open_store(small_disk / "s").nnz == X.size
        return
    assert done.returncode == 1 and "cannot be written (no space left" in done.stderr.lower()
    assert list(small_disk.iterdir()) == []
    with pytest.raises(FileProblem, match="cannot be written"):
        write_store(small_disk / "s", X)
    assert list(small_disk.iterdir()) == []


def test_labels_that_a_store_cannot_hold_leave_the_old_one(tmp_path):
    X, y = example()
    write_store(tmp_path / "s", X, y)
    for labels in (np.where(y, b"a", b"b"), y.astype("M8[D]"), y + 1j):
        with pytest.raises(FileProblem, match=r"y holds .*, which a store does not; pass text"):
            write_store(tmp_path / "s", X, labels, force=True)
    with pytest.raises(FileProblem, match=r"feature_names has several columns called 'a'"):
        write_store(tmp_path / "s", X, y, feature_names=["a"] * X.shape[1], force=True)
    assert open_store(tmp_path / "s").y.tolist() == y.tolist()
