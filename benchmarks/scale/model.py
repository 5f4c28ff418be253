"""What a fit on a cluster costs: a model of a few terms, fitted to what was measured, then asked.

    seconds = a * entries * (nanoseconds of a first scan, and of one for every round) / processors
            + b * columns / processors
            + c * tasks
            + d

and, where workers are on different machines, what goes over the network: the vectors to every
worker, and what comes back. Processors are the workers, or fewer where the machine has fewer.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

# Tasks per block of columns in a fit, and in each round of it: sums, facts, questions about them;
# origins, products, what they are reduced to, facts of the columns fetched, and these.
PER_BLOCK, PER_ROUND = 9, 5

# Bytes: of an entry; of the numbers kept of a column (mean, scale, origin, product with the target,
# relevance); of what comes back of a block in a fit (its most relevant columns), in a round (those
# with the smallest gradients). And columns that are fetched.
ENTRY, COLUMN, OF_BLOCK, OF_ROUND = 8, 40, 18_000, 7_000
TAKEN = 600


class Case(NamedTuple):
    rows: float
    columns: float
    entries: float
    blocks: float
    workers: float
    rounds: float = 2.0


class Network(NamedTuple):
    """Bytes per second of a connection, and seconds until something arrives."""

    bandwidth: float = 1.25e9
    latency: float = 1e-3


class Costs(NamedTuple):
    """The parts of the seconds that a fit takes."""

    entries: float
    columns: float
    tasks: float
    rest: float
    network: float = 0.0

    @property
    def seconds(self) -> float:
        return sum(self)

    @property
    def largest(self) -> str:
        return self._fields[int(np.argmax(self))]


class Model(NamedTuple):
    passes: list[dict[str, float]]  # measured: rows, and nanoseconds per entry
    weights: np.ndarray  # a, b, c, d
    cores: int

    def costs(self, case: Case) -> Costs:
        return Costs(*(self.weights * self.terms(case)))

    def terms(self, case: Case) -> np.ndarray:
        processors = min(case.workers, self.cores)
        tasks = case.blocks * (PER_BLOCK + PER_ROUND * case.rounds)
        entries = 1e-9 * case.entries * self.nanoseconds(case.rows, case.rounds) / processors
        return np.array([entries, case.columns / processors, tasks, 1.0])

    def nanoseconds(self, rows: float, rounds: float) -> float:
        """Of all scans of an entry in a fit, between what was measured."""
        known = np.log([point["rows"] for point in self.passes])
        each = [point["first"] + rounds * point["further"] for point in self.passes]
        return float(np.interp(np.log(rows), known, each))


def fitted(passes: list[dict], measured: list[dict], cores: int) -> Model:
    """To fits by workers; small ones count as much as large ones."""
    model = Model([{k: float(v) for k, v in row.items()} for row in passes], np.ones(4), cores)
    known = [row for row in measured if int(row["workers"]) > 0]
    seconds = np.array([float(row["seconds"]) for row in known])
    terms = np.array([model.terms(case_of(row)) for row in known])
    weights, _ = nnls(terms / seconds[:, None], np.ones(len(known)))
    return model._replace(weights=weights)


def case_of(row: dict) -> Case:
    names = ("rows", "columns", "entries", "blocks", "workers", "rounds")
    return Case(*(float(row[name]) for name in names))


def sent(case: Case, outputs: int = 1, tree: bool = True) -> float:
    """Bytes that one after the other go over the busiest connection of a fit."""
    vectors = 8 * case.rows * (1 + outputs * (1 + case.rounds))
    copies = np.ceil(np.log2(case.workers + 1)) if tree else case.workers
    taken = TAKEN * ENTRY * case.entries / case.columns * 10  # those that matter have more entries
    back = case.blocks * (OF_BLOCK + OF_ROUND * case.rounds)
    return float(vectors * copies + back + taken)


def planned(model: Model, case: Case, network: Network, tree: bool = True) -> Costs:
    """On machines of their own: as many processors as workers, and a network between them."""
    costs = model._replace(cores=int(case.workers)).costs(case)
    steps = PER_BLOCK + PER_ROUND * case.rounds
    seconds = sent(case, tree=tree) / network.bandwidth + steps * network.latency
    return costs._replace(network=seconds)


def memory(case: Case) -> float:
    """Bytes that a worker needs: its entries, its columns, and vectors as long as a column."""
    return (ENTRY * case.entries + COLUMN * case.columns) / case.workers + 8 * case.rows * 5


# A thousand million columns, ten million rows.
FUTURE = {"300 entries a row": 300, "3,000 entries a row": 3_000}
WORKERS = (16, 64, 250, 1_000)


def future(per_row: float, workers: int, blocks_each: int = 4) -> Case:
    return Case(1e7, 1e9, 1e7 * per_row, blocks_each * workers, workers)
