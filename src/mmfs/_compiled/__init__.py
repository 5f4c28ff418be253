"""Every compiled loop of the package.

Functions that call each other share a file, because Numba's on-disk cache does not notice an edit
in another one. All are serial and release the GIL; callers hand them portions of work short
enough for Ctrl-C.
"""
