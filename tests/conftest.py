import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from mmfs.sources import base

settings.register_profile("default", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("default")

base.WORTH_THREADS = 0  # small data in threads too: there are no others here

DATA = Path(os.environ.get("MMFS_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def shared_data():
    """Loads a dense benchmark set by name; skips where the sets are not at hand."""

    def load(name):
        path = DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"benchmark data not found: {path.name} (set MMFS_DATA to its folder)")
        with np.load(path) as file:
            return dict(file)

    return load


@pytest.fixture
def small():
    """120 rows, 40 columns: signals 0..4, a copy, a mirror image and a constant, then noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 40)) * rng.uniform(0.1, 10, 40) + rng.uniform(-5, 5, 40)
    y = (X[:, :5] - X[:, :5].mean(0)) / X[:, :5].std(0) @ [1, -1, 1, 0.5, -0.5]
    X[:, 10] = 3 * X[:, 0] - 1
    X[:, 11] = -X[:, 1]
    X[:, 12] = 7.0
    return X, (y + 0.3 * rng.standard_normal(120) > 0).astype(int)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk (tmpfs) cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
