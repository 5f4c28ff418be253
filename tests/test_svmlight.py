"""The svmlight reader: bit for bit scikit-learn's, and refusing what is malformed."""

import bz2
import gzip
import lzma
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from mmfs._compiled import svmlight as compiled
from mmfs.io import FileProblem, read_svmlight
from mmfs.io import svmlight as module
from tests.reference import svmlight as slow

pytestmark = pytest.mark.slow

BLANKS = [b" ", b"\t", b"  ", b" \t", b"\x0b", b"\r"]


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.uint64)


def write(tmp_path_factory, content, name="file.svm"):
    path = tmp_path_factory.mktemp("svm") / name
    path.write_bytes(content)
    return path


def same_as_slow(found, expected):
    rows = np.repeat(np.arange(found.X.shape[0]), np.diff(found.X.indptr))
    stored = list(zip(rows.tolist(), found.X.indices.tolist(), bits(found.X.data), strict=True))
    nan = bits(np.nan)  # of which there are many

    def plain(entries):
        return [
            (i, j, int(nan[()]) if np.isnan(b.view(np.float64)) else int(b)) for i, j, b in entries
        ]

    assert plain(stored) == plain(expected.stored)
    np.testing.assert_array_equal(found.y, expected.labels)
    queries = found.queries if found.queries is not None else np.full(len(found.y), -1)
    assert queries.tolist() == expected.queries


# Numbers as people and programs write them.
numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda v: f"{v:.6g}"),
    st.integers(-(10**22), 10**22).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=25).map(str),
    st.from_regex(r"[+-]?[0-9]{1,22}\.?[0-9]{0,22}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(["nan", "inf", "-Infinity", "1e400", "-1e-400", "5e-324", "0", "-0", ".5"]),
)


@st.composite
def files(draw):
    """Text of well-formed files."""
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.integers(0, 9))
        if kind == 0:
            lines.append(draw(st.sampled_from([b"", b"   ", b"# only a comment", b"\t\r"])))
            continue
        words = [draw(numbers).encode()]
        if draw(st.booleans()):
            words.append(b"qid:%d" % draw(st.integers(0, 10**17)))
        columns = draw(st.lists(st.integers(0, 10**6), max_size=6, unique=True).map(sorted))
        words += [b"%d:%s" % (j, draw(numbers).encode()) for j in columns]
        line = draw(st.sampled_from([b"", b" "]))
        for word in words:
            line += word + draw(st.sampled_from(BLANKS))
        lines.append(line + draw(st.sampled_from([b"", b"# so it is", b"#:"])))
    return b"\n".join(lines) + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


@settings(max_examples=150, deadline=None)
@given(text=files(), chunk=st.sampled_from([1, 7, 64, 1 << 21]))
def test_well_formed_files_are_read_as_the_slow_reader_does(tmp_path_factory, text, chunk):
    expected = slow.read(text)
    path = write(tmp_path_factory, text)
    before, module.CHUNK = module.CHUNK, chunk
    try:
        if len(expected.labels) == 0:
            with pytest.raises(FileProblem, match="is empty"):
                read_svmlight(path)
            return
        found = read_svmlight(path)
        by_columns = read_svmlight(path, layout="csc", n_jobs=1)
    finally:
        module.CHUNK = before
    same_as_slow(found, expected)
    transposed = found.X.tocsc()
    assert by_columns.X.shape == found.X.shape
    for name in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(by_columns.X, name), getattr(transposed, name))
    np.testing.assert_array_equal(by_columns.X.data, transposed.data)
    np.testing.assert_array_equal(by_columns.y, found.y)


@settings(max_examples=400, deadline=None)
@given(
    text=files(),
    damage=st.lists(
        st.tuples(st.integers(0, 10**6), st.binary(max_size=3), st.integers(0, 3)), max_size=3
    ),
)
def test_damaged_files_are_refused_where_they_are_damaged_or_read_right(
    tmp_path_factory, text, damage
):
    for at, new, length in damage:
        at %= len(text) + 1
        text = text[:at] + new + text[at + length :]
    path = write(tmp_path_factory, text)
    try:
        expected = slow.read(text)
    except slow.Refused as refused:
        with pytest.raises(FileProblem) as error:
            read_svmlight(path)
        assert f"line {refused.line}: " in str(error.value)
        shown = refused.token[:60].decode("utf-8", "replace")
        assert repr(shown)[:20] in str(error.value)
        return
    if len(expected.labels) == 0:
        with pytest.raises(FileProblem, match="is empty"):
            read_svmlight(path)
        return
    same_as_slow(read_svmlight(path), expected)


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_any_double_is_read_back(pattern):
    value = struct.unpack("d", struct.pack("Q", pattern))[0]
    for text in (repr(value), f"{value:.17g}", f"{value:.25e}", f"{value:.9g}"):
        letters = np.frombuffer(text.encode() + b"\n", dtype=np.uint8)
        found = np.empty(1)
        end = compiled._read_number(letters, 0, found, 0)
        assert end in (-1, len(text))  # -1: Python reads it
        if end >= 0:
            assert bits(found)[0] == bits([float(text)])[0]


def test_numbers_halfway_between_doubles_and_long_ones():
    for text in (
        "9007199254740993", "9007199254740995", "1e23", "18446744073709551616", "1" * 40,
        "36893488147419103232", "0." + "0" * 30 + "1", "2.2250738585072011e-308", "8.5e-323",
        "1.7976931348623159e308", "123456789012345678e-340",
    ):  # fmt: skip
        letters = np.frombuffer(text.encode() + b" ", dtype=np.uint8)
        found = np.empty(1)
        if compiled._read_number(letters, 0, found, 0) >= 0:
            assert bits(found)[0] == bits([float(text)])[0], text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", [True, False, "auto"])
def test_same_as_scikit_learn(tmp_path, dtype, zero_based):
    rng = np.random.default_rng(0)
    lines = []
    for i in range(3_000):
        columns = np.unique(rng.integers(1, 100_000, rng.integers(0, 40)))
        values = [repr(float(v)) for v in rng.standard_normal(len(columns))]
        entries = " ".join(f"{j}:{v}" for j, v in zip(columns, values, strict=True))
        lines.append(f"{rng.choice([-1, 1])} qid:{i // 10} {entries} # {i}")
    path = tmp_path / "data.svm"
    path.write_text("\n".join(lines) + "\n")
    X, y, queries = load_svmlight_file(str(path), dtype=dtype, zero_based=zero_based, query_id=True)
    for n_jobs in (1, 3):
        found = read_svmlight(path, dtype=dtype, zero_based=zero_based, n_jobs=n_jobs)
        assert found.X.shape == X.shape and found.X.dtype == dtype
        np.testing.assert_array_equal(found.X.indptr, X.indptr)
        np.testing.assert_array_equal(found.X.indices, X.indices)
        assert found.X.data.tobytes() == X.data.tobytes()
        np.testing.assert_array_equal(found.y, y)
        np.testing.assert_array_equal(found.queries, queries)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"1 1:2\nspam 1:2\n", "line 2: 'spam' is not a number for a label"),
        (b"1 1:2\n\n# note\n1 5:1 3:1\n", "line 4: the column number of '3:1' is not above"),
        (b"1 2:1 2:1\n", "line 1: the column number of '2:1'"),
        (b"1 a:1\n", "line 1: 'a:1' does not start with a column number (up to 2147483646)"),
        (b"1 -1:1\n", "line 1: '-1:1' does not start with"),
        (b"1 7\n", "line 1: '7' does not start with"),
        (b"1 1:\n", "line 1: '1:' has no number for a value"),
        (b"1 1:two\n", "line 1: '1:two' has no number for a value"),
        (b"1 1:1_0\n", "line 1: '1:1_0' has no number"),
        (b"1 1:2:3\n", "line 1: '1:2:3' has no number"),
        (b"1,x 1:1\n", "line 1: '1,x' is not a number for a label"),
        (b"1 qid:x 1:1\n", "line 1: 'qid:x' is not qid: and a whole number"),
        (b"1 1:1 qid:3\n", "line 1: 'qid:3' is not"),
        (b"1 99999999999999999999:1\n", "line 1: '99999999999999999999:1' does not start"),
        (b"1 1:\xff\xfe\n", "line 1: "),
    ],
)
def test_malformed_lines_are_refused_with_file_line_and_token(tmp_path, text, sentence):
    path = tmp_path / "bad.svm"
    path.write_bytes(text)
    with pytest.raises(FileProblem) as error:
        read_svmlight(path)
    assert str(error.value).startswith(f"{path}, ")
    assert sentence in str(error.value)


def test_line_numbers_count_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 50)
    path = tmp_path / "long.svm"
    path.write_text("1 1:1\n" * 999 + "1 1:oops\n" + "1 1:1\n" * 500)
    with pytest.raises(FileProblem, match=r"line 1000: '1:oops'"):
        read_svmlight(path)


def test_one_based_is_taken_at_its_word(tmp_path):
    path = tmp_path / "zero.svm"
    path.write_text("1 0:1 2:1\n")
    assert read_svmlight(path).X.shape == (1, 3)
    with pytest.raises(FileProblem, match="line 1: the column number of '0:1'"):
        read_svmlight(path, zero_based=False)
    assert read_svmlight(path, n_features=10).X.shape == (1, 10)
    with pytest.raises(FileProblem, match="has 3 columns, more than n_features=2"):
        read_svmlight(path, n_features=2)
    with pytest.raises(ValueError, match="layout must be 'csr' or 'csc'"):
        read_svmlight(path, layout="coo")


def test_column_numbers_fit_into_32_bits(tmp_path):
    path = tmp_path / "hashed.svm"
    path.write_text("1 1:1\n1 2147483646:2\n")
    X = read_svmlight(path).X
    assert X.shape == (2, 2**31 - 2) and X.indices.tolist() == [0, 2**31 - 3]
    path.write_text("1 1:1\n1 2147483647:2\n")
    with pytest.raises(FileProblem, match=r"line 2: '2147483647:2' does not start with a column"):
        read_svmlight(path)


def test_file_that_changes_between_its_two_readings(tmp_path, monkeypatch):
    path, whole = tmp_path / "log.svm", module.open_stream
    readings = []

    def changed(*arguments):
        readings.append(path.write_text(("1 1:1 3:1\n", "1 1:1 3:1\n0 2:1 9:1\n")[len(readings)]))
        return whole(*arguments)

    monkeypatch.setattr(module, "open_stream", changed)
    with pytest.raises(FileProblem, match="changed while it was read"):
        read_svmlight(path, layout="csc")
    assert len(readings) == 2


def first_in_range(a, m, low, high):
    """The smallest x >= 0 with low <= a * x % m <= high, or None."""
    if low == 0:
        return 0
    if a == 0:
        return None
    if 2 * a > m:
        a, low, high = m - a, m - high, m - low
    x = -(-low // a)
    if a * x <= high:
        return x
    y = first_in_range(-m % a, a, low % a, high % a)
    return None if y is None else -(-(low + m * y) // a)


def test_numbers_that_a_table_of_128_bits_could_round_wrongly():
    """The table is off by less than one unit of its last place, so its product with a word w is off
    by less than w < 2**64. That matters only if a border between roundings, a multiple of 2**137,
    is so near. Outside -27 <= q < 0 no w is; there, multiples of 5**-q are, which lie on it.
    """
    border, near, doubtful = 2**137, 2**64, set()
    for q in range(compiled.LOWEST_POWER, compiled.HIGHEST_POWER + 1):
        table = (int(compiled.FIVES_HIGH[q - compiled.LOWEST_POWER]) << 64) + int(
            compiled.FIVES_LOW[q - compiled.LOWEST_POWER]
        )
        power = 5 ** abs(q)
        if q >= 0 and power.bit_length() <= 128:
            assert table == power << (128 - power.bit_length())  # not off at all
            continue
        w = 2**63
        for _ in range(50):
            # Just above a border where the table is too large, just below where it is too small.
            low = -(table * w + (0 if q < 0 else near)) % border
            high = low + near - 1
            step = 0 if high >= border else first_in_range(table % border, border, low, high)
            if step is None or w + step >= 2**64:
                break
            w += step
            doubtful.add(q)
            found, decided = compiled._nearest(np.uint64(w), q)
            assert not decided or found == bits([float(f"{w}e{q}")])[0]
            w += 1
    assert doubtful == set(range(-27, 0))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_compressed_files_whole_and_cut_short(tmp_path, suffix):
    text = b"".join(b"%d %d:%d.5\n" % (i % 2, 1 + i % 77, i) for i in range(20_000))
    if suffix == ".zst":
        pyarrow = pytest.importorskip("pyarrow")
        packed = pyarrow.compress(text, codec="zstd", asbytes=True)
    else:
        packers = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
        packed = packers.get(suffix, bytes)(text)
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(packed)
    told = []
    X, y, *_ = read_svmlight(path, progress=lambda *what: told.append(what))
    assert X.shape == (20_000, 77) and X.nnz == 20_000 and y.sum() == 10_000
    assert told[-1] == ("reading", len(packed), len(packed))
    if suffix:
        path.write_bytes(packed[: len(packed) // 2])
        with pytest.raises(FileProblem, match=r"cut short|damaged"):
            read_svmlight(path)
        path.write_bytes(b"this is not compressed")
        with pytest.raises(FileProblem, match=r"damaged|cut short"):
            read_svmlight(path)
    path.write_bytes(b"")
    with pytest.raises(FileProblem, match="is empty"):
        read_svmlight(path)


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
def test_the_first_rows(tmp_path, monkeypatch, layout, chunk):
    lines = [f"{i} {i % 5 + 1}:{i}.5 {i + 7}:1" for i in range(30)]
    (tmp_path / "many.svm").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("mmfs.io.svmlight.CHUNK", chunk)
    for n in (1, 2, 17, 30, 100):
        (tmp_path / "few.svm").write_text("\n".join(lines[:n]) + "\n")
        some = read_svmlight(tmp_path / "many.svm", layout=layout, n_rows=n)
        expected = read_svmlight(tmp_path / "few.svm", layout=layout)
        assert some.X.shape == expected.X.shape and (some.X != expected.X).nnz == 0
        assert some.y.tolist() == expected.y.tolist()
    for wrong in (0, 2.5, "2"):
        with pytest.raises(ValueError, match="n_rows must be a whole number of at least 1"):
            read_svmlight(tmp_path / "many.svm", n_rows=wrong)
