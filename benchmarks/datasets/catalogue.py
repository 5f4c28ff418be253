"""The data sets that can be loaded: where each lives, and how it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import raw
from mmfs.progress import Progress

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
GEO = "https://ftp.ncbi.nlm.nih.gov/geo/series/"
SCIKIT_FEATURE = "https://raw.githubusercontent.com/jundongl/scikit-feature/master/skfeature/data/"
MICROARRAY = "https://raw.githubusercontent.com/ramhiser/datamicroarray/master/data/"
ENRON = "http://www2.aueb.gr/users/ion/data/enron-spam/preprocessed/"
NEWSGROUPS = "http://qwone.com/~jason/20Newsgroups/"

ARTHRITIS, OSTEOARTHRITIS = r"rheumatoid|\bra\b", r"osteoarthr|\boa\b"
HEALTHY = r"\bnormal\b|\bcontrols?\b|\bhealthy\b"


@dataclass(frozen=True)
class Remote:
    """A file of a data set. Without a published checksum, that of the first download is kept."""

    url: str
    checksum: str | None = None  # "md5:..." or "sha256:..."

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Entry:
    title: str
    shape: tuple[int, int]  # for published files, what is expected of them
    stored: str  # name of the file in a folder of prepared sets
    remotes: tuple[Remote, ...] = ()
    read: Callable[[Sequence[Path], Progress | None], raw.Parts] | None = None
    labels: tuple[str, str] = ("y", "classes")  # names of the labels and their meaning there


def _matlab(file: str, classes: tuple[str, str]) -> dict:
    return {
        "remotes": (Remote(SCIKIT_FEATURE + file),),
        "read": lambda paths, _: raw.matlab(paths[0], classes),
    }


def _rdata(file: str, *classes: str) -> dict:
    return {
        "remotes": (Remote(MICROARRAY + file),),
        "read": lambda paths, _: raw.rdata(paths[0], classes),
    }


def _geo(series: str, patterns: dict[str, str]) -> dict:
    address = f"{GEO}{series[:-3]}nnn/{series}/matrix/{series}_series_matrix.txt.gz"
    return {
        "remotes": (Remote(address),),
        "read": lambda paths, progress: raw.series_matrix(paths[0], patterns, progress),
    }


def _newsgroups(topics: bool) -> dict:
    return {
        "remotes": (
            Remote(NEWSGROUPS + "20news-bydate-matlab.tgz"),
            Remote(NEWSGROUPS + "vocabulary.txt"),
        ),
        "read": lambda paths, progress: raw.newsgroups(paths, topics, progress),
    }


def _svmlight(
    *files: Remote,
    n_columns: int,
    n_rows: tuple[int | None, ...] = (None,),
    n_train: int | None = None,
) -> dict:
    return {
        "remotes": files,
        "read": lambda paths, told: raw.svmlight(paths, n_rows, n_columns, n_train, told),
    }


CATALOGUE: dict[str, Entry] = {
    # The paper's seven.
    "leukemia": Entry(
        "bone marrow, two kinds of leukemia (Golub et al. 1999)",
        (72, 7_129),
        "leukemia_golub",
        **_matlab("ALLAML.mat", ("ALL", "AML")),
    ),
    "raoa": Entry(
        "rheumatoid arthritis against osteoarthritis, as in the paper", (31, 18_432), "raoa"
    ),
    "rac": Entry(
        "blood, rheumatoid arthritis against controls (GEO GSE15573)",
        (33, 48_701),
        "rac",
        **_geo("GSE15573", {"control": HEALTHY, "rheumatoid arthritis": ARTHRITIS}),
    ),
    "mnist_3v8": Entry(
        "handwritten digits, 3 against 8 (LeCun et al. 1998)",
        (13_966, 784),
        "mnist_3v8",
        (
            Remote(MNIST + "train-images-idx3-ubyte.gz", "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            Remote(MNIST + "train-labels-idx1-ubyte.gz", "md5:d53e105ee54ea40749a09fcbcd1e9432"),
            Remote(MNIST + "t10k-images-idx3-ubyte.gz", "md5:9fb629c4189551a2d022fa330f9573f3"),
            Remote(MNIST + "t10k-labels-idx1-ubyte.gz", "md5:ec29112dd5afa0611ce80d1b7f02629c"),
        ),
        lambda paths, progress: raw.digits(paths, (3, 8), progress),
    ),
    "real_sim": Entry(
        "Usenet articles, real against simulated (LIBSVM)",
        (72_309, 20_958),
        "real_sim",
        **_svmlight(
            Remote(
                LIBSVM + "real-sim.bz2",
                "sha256:7cd52374f55ce62e803ef33ca1c44689427c23d481eff64026f8ba9f53b8cc27",
            ),
            n_columns=20_958,
        ),
    ),
    "webspam": Entry(
        "web pages, trigrams, spam against others: the first 150,000 (LIBSVM)",
        (150_000, 16_609_143),
        "webspam",
        **_svmlight(
            Remote(LIBSVM + "webspam_wc_normalized_trigram.svm.xz"),
            n_columns=16_609_143,
            n_rows=(150_000,),
            n_train=80_000,
        ),
    ),
    "kddb": Entry(
        "answers of pupils, KDD Cup 2010, the first 100,000 and the test part (LIBSVM)",
        (848_401, 29_890_095),
        "kddb",
        **_svmlight(
            Remote(LIBSVM + "kddb.bz2"),
            Remote(LIBSVM + "kddb.t.bz2"),
            n_columns=29_890_095,
            n_rows=(100_000, None),
            n_train=100_000,
        ),
    ),
    # In place of those that cannot be had.
    "raoa_gse55457": Entry(
        "synovial tissue, rheumatoid arthritis against osteoarthritis (GEO GSE55457)",
        (23, 22_283),
        "raoa_gse55457",
        **_geo("GSE55457", {"osteoarthritis": OSTEOARTHRITIS, "rheumatoid arthritis": ARTHRITIS}),
    ),
    "rac_gse55457": Entry(
        "synovial tissue, rheumatoid arthritis against normal controls (GEO GSE55457)",
        (23, 22_283),
        "rac_gse55457",
        **_geo("GSE55457", {"control": HEALTHY, "rheumatoid arthritis": ARTHRITIS}),
    ),
    "news20": Entry(
        "20 newsgroups by date, word counts, two halves of the topics",
        (18_774, 61_188),
        "news20_bydate",
        **_newsgroups(topics=False),
    ),
    "enron": Entry(
        "spam mail, Enron-Spam 1 to 3, presence of word 1- to 3-grams (Metsis et al. 2006)",
        (16_541, 3_063_292),
        "enron123_word13",
        tuple(Remote(f"{ENRON}enron{part}.tar.gz") for part in (1, 2, 3)),
        raw.mails,
    ),
    # Others.
    "news20_topics": Entry(
        "20 newsgroups by date, word counts, all topics",
        (18_774, 61_188),
        "news20_bydate",
        **_newsgroups(topics=True),
        labels=("y20", "groups20"),
    ),
    "colon": Entry(
        "colon tissue, normal against tumour (Alon et al. 1999)",
        (62, 2_000),
        "colon_alon",
        **_rdata("alon.RData", "normal", "tumour"),
    ),
    "prostate": Entry(
        "prostate, normal against tumour (Singh et al. 2002)",
        (102, 12_600),
        "prostate_singh",
        **_rdata("singh.RData", "normal", "tumour"),
    ),
    "huntington": Entry(
        "blood, controls against Huntington's disease (Borovecki et al. 2005)",
        (31, 22_283),
        "huntington_borovecki",
        **_rdata("borovecki.RData", "control", "symptomatic"),
    ),
    "srbct": Entry(
        "small round blue cell tumours, four kinds (Khan et al. 2001)",
        (63, 2_308),
        "srbct_khan",
        **_rdata("khan.RData", "BL", "EWS", "NB", "RMS"),
    ),
    "arcene": Entry(
        "mass spectra, cancer against normal (Guyon et al. 2004)",
        (200, 10_000),
        "arcene",
        **_matlab("arcene.mat", ("-1", "1")),
    ),
    "madelon": Entry(
        "five signals as an exclusive or, made up (Guyon et al. 2004)",
        (2_600, 500),
        "madelon",
        **_matlab("madelon.mat", ("-1", "1")),
    ),
    "pcmac": Entry(
        "newsgroups on PC against Mac, word counts",
        (1_943, 3_289),
        "pcmac",
        **_matlab("PCMAC.mat", ("1", "2")),
    ),
    "relathe": Entry(
        "newsgroups on religion against atheism, word counts",
        (1_427, 4_322),
        "relathe",
        **_matlab("RELATHE.mat", ("1", "2")),
    ),
    "basehock": Entry(
        "newsgroups on baseball against hockey, word counts",
        (1_993, 4_862),
        "basehock",
        **_matlab("BASEHOCK.mat", ("1", "2")),
    ),
}
