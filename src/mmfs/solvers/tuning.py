"""Tuning constants of the solvers, each with its unit and reason. None changes the optimum."""

# --- working set ---

# Columns added in a round, at least: fewer would cost more scans than their similarities save.
LEAST_ADDED = 100

# Columns to begin with, for each that is needed, which are no more than the rank of Q: those of the
# support are not the most relevant.
FIRST = 2

# Of the relevance that the best column outside has left, the share down to which a search for gamma
# goes: below it, it would only find what the columns inside can do without that one.
DEPTH = 0.25

# Inexact inner solves: many columns are solved to this share of the violation outside them.
ROUGH = 0.1

# Relative gaps from which on similarities in single precision leave nothing to be seen in them.
SINGLE_PRECISION = 1e-5

# Precision of the last solves, in units of the tolerance: a gap is a sum over many columns.
FINEST = 1e-2

# Columns: as many have a Gram matrix of 3 GB.
GRAM_LIMIT = 20_000

# Columns: of more, similarities are not computed where they have far fewer entries; nor of more
# than the second number, where their rows are so few that homotopy soon comes to its end.
NARROW, FOLLOWED = 1_000, 3_000

# Entries for each similarity: a step on columns reads its entries twice, here and there, one on
# similarities a row of them.
COLUMNS_BETTER = 0.5

# Entries of columns held instead of similarities: as many as fill the same memory.
MOST_ENTRIES = GRAM_LIMIT**2

# --- descent and Newton steps on one set of columns ---

# Multiplications a compiled loop does between two chances to be interrupted: a tenth of a second.
WORK_AT_ONCE = 1 << 26

# Passes of descent between Newton steps, at first: what is free changes less and less.
AT_ONCE = 10

# Passes of descent in all: Newton steps end it long before, unless Q is not what it should be.
MOST_PASSES = 1000

# Free coordinates up to which Newton steps are cheaper than the descent they save.
NEWTON_LIMIT = 500

# Rows from which on LAPACK factorises sooner than a compiled loop that can leave rows out.
LARGE_FACTOR = 100

# Passes after which Newton steps pay also for more free coordinates: the following many.
SELDOM = 80
SELDOM_LIMIT = 3_000

# Free coordinates up to which Newton steps also end a descent: equal claims get equal weights.
POLISH_LIMIT = 100

# Weights below this, beside the largest, are traces of rounding.
NO_WEIGHT = 1e-9

# Digits to which weights are found, beside the largest, and gradients, beside relevances.
WEIGHT_DIGITS = 9

# Similarity, of that of a column with itself, from which on two columns are the same.
SAME = 1 - 1e-9

# --- homotopy: the path in b ---

# Support columns up to which homotopy from the first on is cheaper than a search for its end.
FOLLOW_LIMIT = 300

# Of the largest relevance, the least b that homotopy goes to.
LEAST_B = 1e-6

# Of the largest relevance, by how much homotopy may miss the optimality conditions, by rounding.
HOMOTOPY_PRECISION = 1e-9

# Knots of a homotopy, at most, for each column and besides: more than were ever seen.
KNOTS = 20
MORE_KNOTS = 100

# --- search for gamma ---

# Range in which gamma is looked for: above, one feature has all the weight; below, gamma is nothing
# beside similarities.
GAMMA_MIN = 1e-6
GAMMA_MAX = 1e3

# Factor of the first step of a search, at most and at least, and the power by which it grows: few
# solves where the answer is far, and few where it is near.
LARGEST_STEP = 4.0
SMALLEST_STEP = 1.05
STEP_GROWTH = 1.5

# Of the largest relevance, what must be left to a feature that makes up a number: less is none.
LEAST_LEFT = 0.01

# Relative precision of gamma: a step of that size changes alpha by as much.
GAMMA_PRECISION = 1e-3

# How exactly sum(alpha) = 1 is met: a few rounding errors.
UNIT_SUM = 1e-13

# How far a shift of the relevances may be looked for, in units of the relevance.
WIDEST = 1e9

# --- elimination ---

# Share of the features left that is given up at once, at least one.
GIVEN_UP = 0.1

# Precision of weights while features are given up, and for those shown, of the largest relevance.
ELIMINATION_PRECISION = 1e-6
WEIGHT_PRECISION = 1e-9

# --- path ---

# Points of a path, unless told otherwise: neighbours differ by a few features.
POINTS = 50

# Gamma above which b is within 1 % of max r.
HIGHEST_GAMMA = 100.0

# --- generic QP ---

# Columns that a general QP library is given: minutes, and some GB.
QP_LIMIT = 5_000

# Precision asked of it, and the share of the largest weight, or of C, that it leaves uncertain.
QP_PRECISION = 1e-11
QP_UNCERTAIN = 1e-7

# --- ranking ---

# Redundancies that differ by more are those of different columns.
SAME_REDUNDANCY = 1e-9
