"""What-if intervals: against brute force over dense grids and all levels."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import X, fitted, rows_of
from hand_made_models import by_hand, symmetric
from hypothesis import given, settings
from hypothesis import strategies as st
from score_cases import frame_of, n_outputs, predicted_by_hand, random_cells, score_by_hand

from lambdak.explain.what_if import TEETH, saw_tooth
from lambdak.table.category_levels import OTHER

RANGES = {
    "the training range": None,
    "a part of a piece": (2.0, 2.1),
    "several pieces": (1.0, 7.5),
    "beyond the training range": (-30.0, 60.0),
    "a point": (3.0, 3.0),
}
NUMERIC = ["free", "regressor", "linear", "convex", "poisson", "binary", "multiclass", "quantiles", "ordinal", "single"]


def brute_force(model, row, i, candidates, output):
    scores = []
    for cell in candidates:
        own = [*row[:i], cell, *row[i + 1 :]]
        scores.append([score_by_hand(model, own, each) for each in range(n_outputs(model))])
    scores = np.array(scores)
    return scores[:, output], predicted_by_hand(model, scores, output)


def chosen(local, model):
    names = [output.name for output in local._source.outputs]
    return [names.index(name) for name in local.output]


def grid(column, between):
    low, high = between or (column.low, column.high)
    inside = [knot for knot in column.corners() if low <= knot <= high]
    return np.unique([*np.linspace(low, high, 60), *inside])


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMERIC)
@pytest.mark.parametrize("what", RANGES)
def test_nothing_leaves_the_interval_of_a_number(kind, what):
    model, between = fitted(kind), RANGES[what]
    cells = random_cells(model, 3, seed=1)
    local = model.explain_local(frame_of(model, cells))
    found = local.what_if("income", between)
    column = model.model_.encoder.columns[0]
    assert found.column == "income"
    assert found.between == (between or (column.low, column.high))
    for row, (own, output) in enumerate(zip(cells, chosen(local, model), strict=True)):
        scores, predicted = brute_force(model, own, 0, grid(column, between), output)
        assert found.score_lower[row] <= scores.min() + 1e-12
        assert found.score_upper[row] >= scores.max() - 1e-12
        assert found.lower[row] <= predicted.min() + 1e-12
        assert found.upper[row] >= predicted.max() - 1e-12
        width, room = np.ptp(scores), found.score_upper[row] - found.score_lower[row]
        assert room <= 1.25 * width + 0.05 * model.feature_strengths_[0] + 1e-9


@pytest.mark.parametrize("kind", ["free", "poisson", "binary", "multiclass", "quantiles", "wide"])
def test_nothing_leaves_the_interval_of_a_category_and_one_level_attains_it(kind):
    model = fitted(kind)
    i = {"wide": 0}.get(kind, 2)
    column = model.model_.encoder.columns[i]
    cells = random_cells(model, 3, seed=2)
    local = model.explain_local(frame_of(model, cells))
    found = local.what_if(column.name)
    for row, (own, output) in enumerate(zip(cells, chosen(local, model), strict=True)):
        levels = ["never seen", *(level for level in column.levels if level is not OTHER)]
        scores, predicted = brute_force(model, own, i, levels, output)
        assert found.score_lower[row] == pytest.approx(scores.min(), abs=1e-9)
        assert found.score_upper[row] == pytest.approx(scores.max(), abs=1e-9)
        assert found.score_lower[row] <= scores.min()
        assert found.score_upper[row] >= scores.max()
        assert found.lower[row] <= predicted.min() + 1e-12
        assert found.upper[row] >= predicted.max() - 1e-12


def test_levels_that_were_never_seen_are_among_all_levels():
    model = fitted("free")
    assert OTHER not in model.model_.encoder.columns[3].levels
    local = model.explain_local(X[:1])
    assert local.what_if("kind").between == ("a", "b", OTHER)
    assert local.what_if("region").between == ("north", "south", None, OTHER)
    found = local.what_if("kind", [OTHER])
    unseen = model.explain_local(X[:1].assign(kind="never seen"))
    assert found.score_lower[0] == pytest.approx(unseen.score[0], abs=1e-10)


def test_some_levels_only_are_allowed_if_they_are_given():
    model = fitted("free")
    cells = random_cells(model, 1, seed=3)
    found = model.explain_local(frame_of(model, cells)).what_if("region", ["north", None])
    scores, _ = brute_force(model, cells[0], 2, ["north", None], 0)
    assert found.between == ("north", None)
    assert [found.score_lower[0], found.score_upper[0]] == pytest.approx([scores.min(), scores.max()])


def test_a_missing_cell_is_replaced_like_any_other():
    model = fitted("free")
    cells = [[2.0, np.nan, "north", "a"]]
    found = model.explain_local(frame_of(model, cells)).what_if("age", (30, 40))
    scores, _ = brute_force(model, cells[0], 1, grid(model.model_.encoder.columns[1], (30, 40)), 0)
    assert found.score_lower[0] <= scores.min()
    assert found.score_upper[0] >= scores.max()


def test_probabilities_stay_between_zero_and_one():
    for kind in ("binary", "multiclass", "ordinal"):
        found = fitted(kind).explain_local(X[:5]).what_if("income", (-1e6, 1e6))
        assert (found.lower >= 0).all()
        assert (found.upper <= 1).all()
        assert (found.lower <= found.upper).all()


def test_sparse_rows_have_intervals_too():
    model = fitted("sparse")
    local = model.explain_local(rows_of("sparse")[:4])
    found = local.what_if("x1")
    for row in range(4):
        own = rows_of("sparse")[[row]].toarray()[0].tolist()
        scores, _ = brute_force(model, own, 1, grid(model.model_.encoder.columns[1], None), 0)
        assert found.score_lower[row] <= scores.min()
        assert found.score_upper[row] >= scores.max()


FAULTS = {
    "an unknown column": ("incom", None, "column must be one of"),
    "ends in the wrong order": ("income", (2, 1), "between must hold two numbers, the smaller first"),
    "one end": ("income", (2,), "between must hold two numbers"),
    "an infinite end": ("income", (0, np.inf), "between must hold two numbers"),
    "NaN": ("income", (np.nan, 1), "between must hold two numbers"),
    "an unknown level": ("region", ["north", "west"], r"between must hold levels of 'region', .*; got \['west'\]"),
    "no level": ("region", [], "between must hold levels of 'region'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_ranges_refuse(fault):
    column, between, message = FAULTS[fault]
    with pytest.raises(ValueError, match=message):
        fitted("free").explain_local(X[:1]).what_if(column, between)


def test_a_dip_between_two_nodes_is_inside_although_no_node_sees_it():
    model = by_hand(np.zeros((2, 2)), [np.diag([1.0, -1.0])])  # λ_1 = −|x0|
    found = model.explain_local(np.zeros((1, 1))).what_if("x0", (-0.317, 1.0))
    assert found.score_lower[0] == pytest.approx(-1.0)
    assert 0.0 <= found.score_upper[0] < 0.05


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.data())
def test_no_value_between_two_nodes_leaves_the_saw_tooth(seed, dim, data):
    rng = np.random.default_rng(seed)
    index = data.draw(st.integers(0, dim - 1))
    A, E = symmetric(rng, dim), symmetric(rng, dim, 2.0)
    ends = np.linalg.eigvalsh(E)[[0, -1]]
    values = np.array([np.linalg.eigvalsh(A + t * E)[index] for t in np.linspace(0, 1, 201)])
    low, high = saw_tooth(values[None, [0, -1]], ends[:1], ends[1:])
    assert low.item() <= values.min() + 1e-12
    assert high.item() >= values.max() - 1e-12
    assert low.item() >= min(values[0], values[-1]) - (ends[1] - ends[0])
    if ends[0] >= 0 or ends[1] <= 0:
        assert (low.item(), high.item()) == (min(values[[0, -1]]), max(values[[0, -1]]))


def test_teeth_have_the_ends_and_the_knots():
    column = fitted("free").model_.encoder.columns[0]
    nodes = column.grid(-5.0, 6.0, TEETH)
    assert (nodes[0], nodes[-1]) == (-5.0, 6.0)
    assert {knot for knot in column.knots if -5 < knot < 6} <= set(nodes.tolist())
    assert len(nodes) >= 25
    assert (np.diff(nodes) > 0).all()


@pytest.mark.parametrize("between", [("a", "b"), 5, (1.0,), (2.0, 1.0), (0.0, np.inf), "age"])
def test_what_is_not_a_range_is_refused(between):
    model = fitted("regressor")
    name = next(column.name for column in model.model_.encoder.columns if column.n_ramps)
    with pytest.raises(ValueError, match="between must hold two numbers"):
        model.explain_local(X.head(1)).what_if(name, between)


# ---- in words and as a picture -------------------------------------------------------------------------------------


def test_it_prints_what_is_proven_and_what_is_predicted_now():
    local = fitted("regressor").explain_local(X[:1])
    found = local.what_if("income", (1.0, 4.0))
    low, high = found.lower[0], found.upper[0]
    text = str(found)
    assert text.startswith("With income anywhere between 1 and 4, and all else as it is, the prediction stays between ")
    assert text.endswith(f"Now it is {local.prediction[0]:.2f}.")
    printed = text.split("stays between ")[1].split(". Now")[0].split(" and ")
    assert float(printed[0]) <= low
    assert float(printed[1]) >= high
    assert [float(end) for end in printed] == pytest.approx([low, high], abs=0.011)
    assert repr(found) == text


def test_levels_are_named_if_they_are_few_and_many_rows_are_cut():
    local = fitted("binary").explain_local(X[:30])
    text = str(local.what_if("kind", ["a", "b"]))
    assert text.splitlines()[0].startswith(
        "Row 0: With kind being a or b, and all else as it is, the probability of class"
    )
    assert text.splitlines()[-1] == "… and 20 more rows: see to_frame()"
    assert "Whatever kind is" in str(local.what_if("kind"))
    frame = local.what_if("kind").to_frame()
    assert len(frame) == 30
    np.testing.assert_array_equal(frame["now"], local.prediction)


@pytest.mark.parametrize("kind", ["free", "poisson", "binary", "multiclass", "quantiles", "ordinal"])
@pytest.mark.parametrize("column", ["income", "region"])
def test_what_is_drawn_is_what_is_predicted_along_the_column(kind, column):
    plots = pytest.importorskip("lambdak.explain.plots")
    model = fitted(kind)
    local = model.explain_local(X[:4])
    found = local.what_if(column)
    cells, predictions = found.along(3)
    known = [(cell, own) for cell, own in zip(cells, predictions, strict=True) if cell is not OTHER]
    table = X.iloc[[3] * len(known)].assign(**{column: [cell for cell, _ in known]})
    names = [output.name for output in local._source.outputs]
    wanted = model.explain_local(table, output=None if len(names) == 1 else names.index(local.output[3])).prediction
    np.testing.assert_allclose([own for _, own in known], wanted, rtol=1e-9, atol=1e-12)
    assert (predictions >= found.lower[3] - 1e-12).all()
    assert (predictions <= found.upper[3] + 1e-12).all()
    ax = found.plot(3)
    assert ax.get_title() == f"Row 3: what if {column} were different?"
    assert plots.png(ax).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="row must be in"):
        found.plot(4)
