"""MMFS: settings -> data -> problem -> solution -> selection -> record."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mmfs.base import Few, PerColumn, WeightedSelector
from mmfs.explain import explain, noise_of
from mmfs.fit import Fit, FittedRecord, fit
from mmfs.hsic import HSIC
from mmfs.kernels import KERNELS
from mmfs.optional import require
from mmfs.per_row import PLAIN, PerRow
from mmfs.prepare import (
    by_name,
    check_combinations,
    check_has_path,
    prepare,
    prepare_similarities,
    refuse_rows,
)
from mmfs.prepared import PreparedProblem
from mmfs.progress import progress_of
from mmfs.selection_path import SelectionPath, gathered
from mmfs.settings import Settings
from mmfs.solvers import SOLVERS
from mmfs.solvers.tuning import POINTS
from mmfs.validation import (
    CLASS_WEIGHT,
    COUNT,
    FLAG,
    KEEP,
    POSITIVE,
    RELEVANCE,
    TASK,
    WHOLE,
    Rule,
    check_parameters,
    is_name,
    is_real,
    names_of_columns,
    one_of,
    read_again,
    read_input,
)
from mmfs.warn import ChanceWarning, warn_caller

Array = np.ndarray


KERNEL = one_of(*KERNELS, "precomputed", function="a function of the correlation")


class WithPath(WeightedSelector):
    """A selector whose fit knows the path of solutions that leads to it."""

    refit = True  # whether there is a fit at the end

    @abstractmethod
    def _fit(self, *data: Any, **how: Any) -> Fit | None:
        """As in `Selector`; returns the fit, to go on from."""

    def fit_path(
        self, X: Any, y: Any = None, *, n_points: int = POINTS, **how: Any
    ) -> SelectionPath:
        """Fit, and follow the path of solutions that leads to the joint one, in one go.

        Parameters
        ----------
        X, y, **how
            As for `fit`.
        n_points : int, default=50
            Values of gamma, in equal ratios, from where the second feature enters.

        Returns
        -------
        SelectionPath
            As `mmfs_path` gives it, without reading X for the first time again.
        """
        if not self.refit:
            raise ValueError("fit_path needs refit=True.")
        with self._or_as_before():
            done = self._fit(X, y, **self._how(X, **how))
            assert done is not None
            check_has_path(done.prepared.settings)
            names = getattr(self, "feature_names_in_", None)
            return gathered(done.path_to(n_points), done.prepared, names)


@dataclass(eq=False, repr=False)
class MMFS(WithPath):
    r"""Max-margin feature selection: jointly most relevant, least redundant features.

    Features are the data points of a one-class SVM, each with a margin given by its relevance;
    the support vectors are the features to keep. With columns :math:`f_j` of unit norm and zero
    mean, similarities :math:`Q_{ij}`, relevances :math:`r_j` and :math:`\tau=\theta/(1-\theta)`:

    .. math:: \min_{0 \le \alpha \le C}
              \tfrac12 \alpha^\top Q \alpha + \tfrac{\gamma}{2} (1^\top\alpha)^2 - \tau r^\top\alpha

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many features to select: a number, a fraction of all columns, or None for all support
        features (alpha > 0). A number is met exactly whenever that many columns are not constant.
    gamma : float or "auto", default="auto"
        Strength of the pressure towards few features. "auto" takes, for K features, the largest
        gamma with at least 1.5 K (at most 2,000) support features, or as many as there are (for
        elimination also, up to 150 of them, all with more relevance left than half of what one in
        N random columns would have); for None, the largest at which no feature is left out that
        has more relevance left than one in N random columns would have. (In the paper's scale,
        gamma times M.)
    C : float, default=1.0
        Largest weight of a feature; `inf` is the hard margin.
    theta : float, default=0.5
        Weight of relevance against redundancy in (0, 1).
    kernel : {"aligned", "linear", "poly2", "rbf", "hsic", "precomputed"}, callable or hsic, \
            default="aligned"
        Similarity as a function of the correlation rho. "aligned" orients columns by the target
        first, so that a mirror image is as redundant as a copy; "linear" is rho as it stands,
        which *prefers* mirror images; "poly2" is rho**2; "rbf" is exp(rho - 1). "hsic" is
        dependence of any shape, to be used with relevance="hsic" (`mmfs.hsic.HSIC` sets its
        details). With "precomputed", X is the matrix of similarities itself. A callable maps an
        array of rho to an array of similarities and must be positive semi-definite.
    relevance : {"correlation", "mutual_info", "binned_mutual_info", "hsic"}, array or callable, \
            default="correlation"
        "correlation" is |rho| with the target, or the correlation ratio for several classes or
        outputs. "mutual_info" is scikit-learn's nearest-neighbour estimate (for sparse data, and
        data that are not in memory, the binned one), "binned_mutual_info" a fast one on three
        states per column; both are put on the scale of a correlation by sqrt(1 - exp(-2 I)).
        "hsic" is dependence of any shape. An array, or what a callable returns for (X, y), must
        be on the scale of a correlation, from 0 to 1; scores of scikit-learn's `f_classif`,
        `f_regression`, `r_regression`, `chi2` and `mutual_info_*` are put on that scale.
    relevance_scale : {None, "max"}, default=None
        "max" divides the relevances of an array or callable by the largest, whatever their scale.
    formulation : {"squared_bias", "constrained"}, default="squared_bias"
        "constrained" replaces the term in gamma by the constraint sum(alpha) = 1.
    center : bool, default=True
        Whether columns are centred. Sparse columns are centred without being made dense.
    rank : {"auto", "elimination", "alpha", "path"}, default="auto"
        Order among the support features. "alpha": by weight. "elimination": the lightest tenth
        is given up, the others are weighed again, and so on; those given up last come first.
        "path": as they enter the support while gamma falls to its value (50 steps; those that
        enter in one step by weight), which takes a few times as long. "auto" is "elimination" if
        up to 100 features are asked for and gamma is "auto"; else, and with "precomputed"
        similarities or the constrained formulation, "alpha".
    solver : {"working_set", "dcd", "qp"}, default="working_set"
        All reach the same optimum: a few scans of the data; the paper's coordinate descent
        over all columns; a general QP library (small data; needs `mmfs[qp]`).
    task : {"auto", "classification", "regression", "survival"}, default="auto"
        Whether y holds classes or quantities, or events and times, some of them censored. "auto":
        text, categories and booleans are classes, and so are whole numbers, if two are distinct, or
        at most 50 and a third of the instances; scikit-survival's structured array holds events
        and times. For "survival" y may also be a frame or, events (0, 1) first, an array of two.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, by which those of their rows are multiplied; "balanced" makes all
        classes weigh the same.
    missing : {"allow", "refuse"}, default="allow"
        Whether NaN in X is taken as the mean of what is there in its column, or an error.
    must_include, exclude : names or numbers of columns, or a list of them, default=None
        Features that are selected in any case and rank first, all others being judged by what they
        add to these; and columns that never are. Names may be patterns, such as "zip*".
    feature_groups : dict or list of groups, default=None
        Columns, by name or number, that are kept or dropped as one feature; K counts features.
    costs : array, Series or dict, default=None
        What each column costs, by number or by name: at twice the cost, a feature needs twice as
        much relevance that others have left. Only ratios matter.
    budget : float or None, default=None
        What the selected features may cost together: they are taken in rank order up to that.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Most rounds of the working set; passes of "dcd", or iterations of "qp", for one gamma.
    keep_scores : bool or "auto", default="auto"
        Whether to keep `relevance_`, `redundancy_` and `gradient_`, which have a value for every
        column. "auto" keeps them for up to 100,000 columns, unless these are on a Dask cluster.
    random_state : int, RandomState instance or None, default=0
        Order of coordinate updates, and noise of the nearest-neighbour estimate.
    n_jobs : int or None, default=None
        Threads for scans of the data. Results do not depend on it.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns in rank order: as `rank` says, or alpha descending, then gradient
        ascending, then index.
    ranked_by_ : {"elimination", "alpha", "path"}
        What `rank` came to.
    weights_ : ndarray
        Weights of the selected columns, found again among them alone.
    feature_groups_, selected_groups_ : dict, list, or None
        Where features are groups of columns, or categories: the columns of every feature by its
        name, and the names of the selected ones in rank order, to which `weights_` belong;
        `indices_` are all of their columns.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected columns.
    chance_ : float or None
        How likely it is that the largest relevance of as many unrelated columns is as large as
        here; above 0.05 a `ChanceWarning` says so. None where that is not known.
    alpha_ : ndarray of shape (n_features_in_,)
        Weight of each column in the joint solution over all columns, which proposes candidates.
    relevance_, redundancy_, gradient_ : ndarray of shape (n_features_in_,)
        r and, in the joint solution, Q alpha and Q alpha + b - tau r (negative: the margin is
        violated).
    gamma_, b_ : float
        The gamma used (None when constrained), and the bias of the joint solution.
    gap_ : float
        Relative duality gap, the certificate: the optimum is at most that much better than the
        joint solution.
    objective_ : float
        Value of the objective in the joint solution.
    n_iter_, n_scans_ : int
        Iterations of the solver; how often all columns were looked at.
    n_constant_, n_duplicate_ : int
        Columns that are constant; columns that were fetched and found to be the same as another
        (of many columns only candidates are fetched, and copies of others are not counted; "dcd"
        compares all).
    n_missing_ : int
        Missing values, which were taken as the means of their columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Constant columns are never selected. Of columns that are the same once standardised (with
    "aligned" and "poly2": also mirrored) the first stands for all; the others rank last.

    Examples
    --------
    >>> import numpy as np
    >>> from mmfs import MMFS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 50))
    >>> X[:, 7] = X[:, 3]                       # a copy
    >>> y = X[:, 3] + X[:, 20] > 0
    >>> MMFS(n_features_to_select=2).fit(X, y).indices_.tolist()
    [20, 3]
    """

    alpha_, relevance_, redundancy_, gradient_ = (PerColumn() for _ in range(4))

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "gamma": Rule(
            lambda v: is_name(v, "auto") or (is_real(v) and 0 < v < np.inf),
            "'auto' or a positive number",
        ),
        "C": Rule(lambda v: is_real(v) and v > 0, "a positive number, or inf for a hard margin"),
        "theta": Rule(lambda v: is_real(v) and 0 < v < 1, "a number between 0 and 1"),
        "kernel": Rule(
            lambda v: KERNEL.holds(v) or isinstance(v, HSIC), f"{KERNEL.wanted}, or an HSIC(...)"
        ),
        "relevance": RELEVANCE,
        "relevance_scale": Rule(lambda v: v is None or is_name(v, "max"), "None or 'max'"),
        "rank": one_of("auto", "elimination", "alpha", "path"),
        "center": FLAG,
        "formulation": one_of("squared_bias", "constrained"),
        "solver": one_of(*SOLVERS),
        "task": TASK,
        "class_weight": CLASS_WEIGHT,
        "missing": one_of("allow", "refuse"),
        "feature_groups": Rule(
            lambda v: v is None or isinstance(v, dict | list | tuple),
            "a dict or list of groups of columns, or None",
        ),
        "budget": Rule(lambda v: v is None or POSITIVE.holds(v), "a positive number, or None"),
        "tol": POSITIVE,
        "max_iter": WHOLE,
        "keep_scores": KEEP,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    gamma: float | str = "auto"
    C: float = 1.0
    theta: float = 0.5
    kernel: Any = "aligned"
    relevance: Any = "correlation"
    relevance_scale: str | None = None
    formulation: str = "squared_bias"
    center: bool = True
    rank: str = "auto"
    solver: str = "working_set"
    task: str = "auto"
    class_weight: Any = None
    missing: str = "allow"
    must_include: Any = None
    exclude: Any = None
    feature_groups: Any = None
    costs: Any = None
    budget: float | None = None
    tol: float = 1e-4
    max_iter: int = 1000
    keep_scores: bool | str = "auto"
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any, per_row: PerRow = PLAIN) -> Fit:
        return self._fit_prepared(*self._prepare(X, y, per_row))

    def _fit_prepared(self, prepared: PreparedProblem, rng: np.random.Generator) -> Fit:
        done = fit(prepared, rng)
        self._remember(done.record)
        if noise := noise_of(done.record):
            warn_caller(noise, ChanceWarning)
        return done

    def _prepare(
        self, X: Any, y: Any, per_row: PerRow = PLAIN
    ) -> tuple[PreparedProblem, np.random.Generator]:
        """The problem, and the random numbers to solve it by."""
        check_parameters(self)
        settings = self._settings()
        check_combinations(settings)
        rng = check_random_state(self.random_state)
        if is_name(self.kernel, "precomputed"):
            refuse_rows(self, per_row)
            Q, y, _ = read_input(self, X, y, needs_y=False)
            prepared = prepare_similarities(settings, Q, y)
        else:
            settings = replace(settings, relevance=by_name(settings.relevance, X))
            X, y, task = read_input(self, X, y, True, self.task, "features", self.exclude)
            settings = replace(settings, task=task)
            names = getattr(self, "feature_names_in_", None)
            prepared = prepare(settings, X, y, rng, names, per_row)
        return prepared, np.random.default_rng(rng.randint(2**31))

    def _settings(self) -> Settings:
        names = (field.name for field in fields(Settings) if field.name != "progress")
        values = {name: getattr(self, name) for name in names}
        return Settings(**values, progress=progress_of(self.verbose))

    def _remember(self, record: FittedRecord) -> None:
        self._record = record
        scores = record.scores or dict.fromkeys(("relevance_", "redundancy_", "gradient_"))
        alpha = Few(record.support, record.alpha)
        if record.features is not None:
            alpha = Few(*record.features.with_columns(*alpha))
        self._per_column = {"alpha_": alpha, **scores}
        self.indices_, self.weights_ = record.indices, record.weights
        self.feature_groups_, self.selected_groups_ = None, None
        if record.features is not None:
            self.feature_groups_ = record.features.by_name
            self.selected_groups_ = [record.features.name(g) for g in record.indices.tolist()]
            self.indices_ = record.features.columns_of(record.indices)
        self.ranked_by_, self.chance_ = record.ranked_by, record.chance
        self.gamma_, self.b_ = record.gamma, record.joint_b
        self.gap_, self.objective_ = record.relative_gap, record.objective
        self.n_iter_, self.n_scans_ = record.n_iter, record.n_scans
        self.n_constant_, self.n_duplicate_ = record.n_constant, record.n_duplicate
        self.n_missing_ = record.n_missing

    def explain(
        self, X: Any, features: Any = None, *, n_dropped: int = 10, names: Any = None
    ) -> Any:
        """Why features were kept or dropped.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix
            The data of the fit. Only the columns asked for and the selected ones are read.
        features : name, column number, several of them, or a mask, default=None
            Numbers count columns from 0, also where names are numbers. None stands for the
            selected features and the most relevant dropped ones.
        n_dropped : int, default=10
            How many dropped ones that is.
        names : array or callable, default=None
            Names of all columns, or a function from column number to name, where X has none
            (sparse data).

        Returns
        -------
        pandas.DataFrame
            A row per feature with `selected`, `rank`, `weight`, `relevance`, `redundancy` (what
            the other selected features tell of it), `margin` (zero for selected features with a
            weight below C, positive where it is not needed, negative where it would add to those
            selected), `causes` (by how much each other selected feature makes it redundant, the
            largest first) and `why` in words.
        """
        check_is_fitted(self)
        require("pandas", "explain", "explain()")  # before anything is read
        X = read_again(self, X)
        names = names_of_columns(self, X, names)
        return explain(self._record, X, features, n_dropped, names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not is_name(self.kernel, "precomputed")
        tags.target_tags.multi_output = True
        counts = is_name(self.kernel, "hsic") or not is_name(self.relevance, "correlation")
        exact = self.solver != "dcd" and not is_name(self.kernel, "precomputed") and not counts
        tags.input_tags.allow_nan = self.missing == "allow" and self.center and exact
        return tags
