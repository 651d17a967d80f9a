"""The plot of pass rates: points, bars and the sentence that says the same."""

import pytest

from agentlib.evals import Report, Result, wilson_interval
from agentlib.views.rates import pass_rates


def report(version, passed, runs, case="c"):
    results = (Result(version, case, "goal", seed, passed=seed < passed) for seed in range(runs))
    return Report(version, tuple(results), runs)


def bars(plot):
    """What is drawn: for each name the rate and both ends of its bar, in percent."""
    (axes,) = plot.figure.axes
    drawn = []
    for point, _, (bar,) in axes.containers:
        ((low, _), (high, _)) = bar.get_segments()[0]
        drawn.append((point.get_xdata()[0], low, high))
    return dict(zip([label.get_text() for label in axes.get_yticklabels()], drawn, strict=True))


def test_each_report_is_a_point_in_its_interval():
    drawn = bars(pass_rates([report("plain", 6, 10), report("checked", 10, 10)]))
    for name, passed in [("plain", 6), ("checked", 10)]:
        low, high = wilson_interval(passed, 10)
        assert drawn[name] == pytest.approx((10 * passed, 100 * low, 100 * high))


def test_the_sentence_says_what_the_plot_shows():
    assert str(pass_rates(report("plain", 8, 10))) == (
        "Runs that passed, with the 95% interval: plain: 8 of 10 = 80% (49% to 94%)."
    )
    assert "with the 50% interval" in str(pass_rates(report("plain", 8, 10), confidence=0.5))


def test_cases_can_be_shown_one_by_one():
    both = Report("a", (*report("a", 1, 2, "easy"), *report("a", 0, 2, "hard")), 4)
    assert list(bars(pass_rates(both.by_case()))) == ["easy", "hard"]


@pytest.mark.parametrize("wrong", ["plain", 7, [1], {"plain": 0.8}])
def test_what_is_no_report_is_refused(wrong):
    with pytest.raises(TypeError, match="reports are Reports"):
        pass_rates(wrong)


@pytest.mark.parametrize("wrong", [[], {}, Report("a", (), 5), [report("a", 1, 2), report("a", 2, 2)]])
def test_nothing_to_show_and_names_that_clash_are_an_error(wrong):
    with pytest.raises(ValueError, match=r"nothing to plot|one name"):
        pass_rates(wrong)
