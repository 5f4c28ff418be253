"""Reads of an HDF5 file all that it could hang or crash on, in a process that may do so.

That is everything but numbers: attributes, links, text. It is run as a program, with the file as
argument, and imports nothing of this package, so that it starts at once.
"""

import sys
from typing import Any

import h5py


def look(name: str, item: Any) -> None:
    for _ in item.attrs.values():
        pass
    if isinstance(item, h5py.Dataset):
        if item.dtype.hasobject:
            item[()]
        elif item.chunks is not None:
            item.id.get_num_chunks()


if __name__ == "__main__":
    print("started", flush=True)
    try:
        with h5py.File(sys.argv[1], "r") as file:
            look("/", file)
            file.visititems(look)
    except Exception as error:
        sys.exit(str(error).partition("\n")[0])
