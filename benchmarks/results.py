"""Results as CSV files, each with the machine and the versions it was made on beside it."""

import csv
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

PACKAGES = ["numpy", "scipy", "scikit-learn", "numba", "fastcan", "mrmrs", "celer", "skglm"]
PACKAGES += ["pyHSICLasso", "abess", "mrmr-selection", "feature-engine"]


def machine() -> dict:
    import mmfs

    versions = {"python": platform.python_version(), "mmfs": mmfs.__version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.system(),
        "versions": versions,
    }


def _processor() -> str:
    """Its name where the system tells, else its kind."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def save(rows: list[dict], part: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part}.csv"
    unfinished = path.with_suffix(".part")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    unfinished.replace(path)
    made = {"part": part, "rows": len(rows), **machine()}
    (folder / f"{part}.json").write_text(json.dumps(made, indent=1) + "\n")


def read(part: str, folder: Path) -> list[dict]:
    path = folder / f"{part}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def made_on(part: str, folder: Path) -> dict:
    return json.loads((folder / f"{part}.json").read_text())
