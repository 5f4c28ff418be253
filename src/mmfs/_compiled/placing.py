"""From entries in the order of rows to entries in the order of columns."""

from numba import njit


@njit(cache=True, nogil=True)
def place(first_row, row_ends, columns, shift, values, next_entry, ends, rows, data):
    """Put entries of consecutive rows where they belong among compressed columns.

    Returns False if one has more entries than there is room for.
    """
    k = 0
    for i in range(len(row_ends)):
        while k < row_ends[i]:
            j = columns[k] - shift
            if not 0 <= j < len(ends) or next_entry[j] >= ends[j]:
                return False
            rows[next_entry[j]], data[next_entry[j]] = first_row + i, values[k]
            next_entry[j] += 1
            k += 1
    return True


@njit(cache=True, nogil=True)
def count_columns(columns, counts):
    for k in range(len(columns)):
        counts[columns[k]] += 1


@njit(cache=True, nogil=True)
def place_run(columns, ends, rows, data, start, first, next_entry, all_rows, all_data):
    """Put the entries of some columns of a run behind those that the runs before it had there.

    `columns` rise and end at `ends`, counted from `start`, where `rows` and `data` begin; entries
    of column j go to next_entry[j - first] and beyond.
    """
    k = 0
    for c in range(len(columns)):
        at = next_entry[columns[c] - first]
        stop = ends[c] - start
        for n in range(k, stop):
            all_rows[at + n - k], all_data[at + n - k] = rows[n], data[n]
        next_entry[columns[c] - first] = at + stop - k
        k = stop
