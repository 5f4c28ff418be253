"""Reading the text of svmlight files: bytes to labels, column numbers and values.

Decimal numbers become the nearest double. Short ones do by one exact multiplication or division;
longer ones by the top 128 bits of a product with a power of five (the method of Eisel and Lemire).
What neither decides, or what is no plain decimal number, is left to Python.
"""

import numpy as np
from numba import njit, uint64

TAB, NEWLINE, RETURN, SPACE, HASH = 9, 10, 13, 32, 35
PLUS, MINUS, POINT, COLON = 43, 45, 46, 58
E, e = 69, 101
Q, I, D = 113, 105, 100  # noqa: E741

# What can be wrong with a line.
FINE, NO_LABEL, NO_COLUMN, NO_VALUE, NOT_RISING, NO_QUERY = range(6)

# Powers of ten that are exact in double precision, and whole numbers that are.
EXACT = 22
TENS = np.array([float(10**k) for k in range(EXACT + 1)])
LARGEST_WHOLE = np.uint64(2**53)

# Column numbers fit into 32 bits.
LAST_COLUMN = 2**31 - 2

# Digits that fit into a word for sure.
MOST_DIGITS = 19

# Beyond these powers of ten a number of 19 digits is 0 or infinite.
LOWEST_POWER, HIGHEST_POWER = -342, 308


def _top_bits_of_fives() -> tuple[np.ndarray, np.ndarray]:
    """The first 128 bits of 5**q, as two words; rounded up for negative q, else down."""
    words = []
    for q in range(LOWEST_POWER, HIGHEST_POWER + 1):
        if q >= 0:
            power = 5**q
            shift = 128 - power.bit_length()
            top = power << shift if shift >= 0 else power >> -shift
        else:
            power = 5**-q
            top = (1 << (127 + power.bit_length())) // power + 1
            top >>= top.bit_length() - 128
        words.append((top >> 64, top & (2**64 - 1)))
    high, low = np.array(words, dtype=np.uint64).T.copy()
    return high, low


FIVES_HIGH, FIVES_LOW = _top_bits_of_fives()


@njit(cache=True, nogil=True, inline="always")
def _product(a, b):
    """Both words of the product of two words."""
    half, mask = uint64(32), uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    low, middle, other = a0 * b0, a1 * b0, a0 * b1
    carried = (low >> half) + (middle & mask) + (other & mask)
    high = a1 * b1 + (middle >> half) + (other >> half) + (carried >> half)
    return high, (carried << half) | (low & mask)


@njit(cache=True, nogil=True)
def _nearest(w, q):
    """Bits of the double nearest to w * 10**q, and whether that could be decided."""
    undecided = (uint64(0), False)
    if not LOWEST_POWER <= q <= HIGHEST_POWER or w == uint64(0):
        return undecided
    zeros = 0
    while not w >> uint64(56):
        w <<= uint64(8)
        zeros += 8
    while not w >> uint64(63):
        w <<= uint64(1)
        zeros += 1
    high, low = _product(w, FIVES_HIGH[q - LOWEST_POWER])
    if high & uint64(0x1FF) == uint64(0x1FF):
        more, _ = _product(w, FIVES_LOW[q - LOWEST_POWER])
        low += more
        if low < more:
            high += uint64(1)
    if low == uint64(0xFFFFFFFFFFFFFFFF):
        return undecided
    top = high >> uint64(63)
    mantissa = high >> (top + uint64(9))
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - zeros + 1023
    halfway = low <= uint64(1) and -4 <= q <= 23 and mantissa & uint64(3) == uint64(1)
    if halfway or exponent <= 0:
        return undecided
    mantissa = (mantissa + (mantissa & uint64(1))) >> uint64(1)
    if mantissa >> uint64(53):
        mantissa >>= uint64(1)
        exponent += 1
    if exponent >= 2047:
        return undecided
    return (mantissa & uint64(0xFFFFFFFFFFFFF)) | (uint64(exponent) << uint64(52)), True


@njit(cache=True, nogil=True, inline="always")
def _is_digit(c):
    return 48 <= c <= 57


@njit(cache=True, nogil=True, inline="always")
def _is_blank(c):
    return c == SPACE or (TAB <= c <= RETURN and c != NEWLINE)


@njit(cache=True, nogil=True, inline="always")
def _ends_token(c):
    return c in (SPACE, HASH) or TAB <= c <= RETURN


@njit(cache=True, nogil=True)
def _token_end(text, i):
    while not _ends_token(text[i]):
        i += 1
    return i


@njit(cache=True, nogil=True)
def _read_number(text, i, values, at):
    """Put the number written at text[i] into values[at].

    Returns where it ends, or -1 if Python must look at it.
    """
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    first, w, power = i, uint64(0), 0
    while _is_digit(text[i]):
        w = w * uint64(10) + uint64(text[i] - 48)
        i += 1
    n_digits = i - first
    if text[i] == POINT:
        i += 1
        first = i
        while _is_digit(text[i]):
            w = w * uint64(10) + uint64(text[i] - 48)
            i += 1
        power = first - i
        n_digits -= power
    if not 0 < n_digits <= MOST_DIGITS:
        return -1
    if text[i] == e or text[i] == E:
        i += 1
        falls = text[i] == MINUS
        if falls or text[i] == PLUS:
            i += 1
        first, size = i, 0
        while _is_digit(text[i]) and i < first + 5:
            size = 10 * size + (text[i] - 48)
            i += 1
        if i == first:
            return -1
        power += -size if falls else size
    if not _ends_token(text[i]):
        return -1
    sign = -1.0 if negative else 1.0
    if w <= LARGEST_WHOLE and 0 <= power <= EXACT:
        values[at] = sign * (float(w) * TENS[power])
    elif w <= LARGEST_WHOLE and -EXACT <= power < 0:
        values[at] = sign * (float(w) / TENS[-power])
    else:
        bits, decided = _nearest(w, power)
        if not decided:
            return -1
        values.view(np.uint64)[at] = bits | (uint64(negative) << uint64(63))
    return i


@njit(cache=True, nogil=True)
def _read_whole(text, i):
    """The whole number written at text[i], of at most 18 digits, and where it ends."""
    first, number = i, 0
    while _is_digit(text[i]) and i < first + 18:
        number = 10 * number + (text[i] - 48)
        i += 1
    return number, i


@njit(cache=True, nogil=True)
def count_marks(text):
    """How many colons and how many newlines there are: bounds for entries and rows."""
    colons, newlines = 0, 0
    for i in range(len(text)):
        colons += text[i] == COLON
        newlines += text[i] == NEWLINE
    return colons, newlines


@njit(cache=True, nogil=True)
def parse(text, first_column, labels, queries, row_ends, columns, values, odd):
    """Whole lines of text, each with its newline, into arrays large enough for them.

    Row i has label labels[i], query number queries[i] (-1: none) and entries up to row_ends[i].
    Numbers for Python go into `odd` as (start, stop, entry or -1 - row). Returns the numbers of
    rows, entries and odd numbers, the lowest and the highest column, what is wrong and where.
    """
    i, n_rows, n_entries, n_odd = 0, 0, 0, 0
    lowest, highest = 2**62, -1
    wrong, in_row, first_entry, previous = FINE, False, 0, 0
    while i < len(text):
        c = text[i]
        if c == NEWLINE:
            if in_row:
                row_ends[n_rows] = n_entries
                n_rows += 1
                in_row = False
            i += 1
            continue
        if _is_blank(c):
            i += 1
            continue
        if c == HASH:
            while text[i] != NEWLINE:
                i += 1
            continue
        start = i
        if not in_row:
            i = _read_number(text, start, labels, n_rows)
            if i < 0:
                i = _token_end(text, start)
                odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2] = start, i, -1 - n_rows
                n_odd += 1
            queries[n_rows] = -1
            in_row, first_entry, previous = True, n_entries, first_column - 1
            continue
        if c == Q and text[i + 1] == I and text[i + 2] == D and text[i + 3] == COLON:
            number, i = _read_whole(text, start + 4)
            if i == start + 4 or not _ends_token(text[i]) or n_entries > first_entry:
                wrong = NO_QUERY
                break
            queries[n_rows] = number
            continue
        number, i = _read_whole(text, start)
        if i == start or text[i] != COLON or number > LAST_COLUMN:
            wrong = NO_COLUMN
            break
        if number <= previous:
            wrong = NOT_RISING
            break
        i = _read_number(text, i + 1, values, n_entries)
        if i < 0:
            i = _token_end(text, start)
            odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2] = start, i, n_entries
            n_odd += 1
        columns[n_entries] = number
        n_entries += 1
        lowest, highest, previous = min(lowest, number), max(highest, number), number
    return n_rows, n_entries, n_odd, lowest, highest, wrong, start if wrong else i
