"""The phases of a training, and what is said of the time that is left."""

from math import inf

import pytest

from sqlsvm.run import clock, making
from sqlsvm.run.clock import Clock
from sqlsvm.run.making import Forecast, usual_rate
from sqlsvm.solve.solution import Effort, Record
from sqlsvm.terminal import duration


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    for module in (clock, making):
        monkeypatch.setattr(module, "perf_counter", time)
    return time


def test_each_moment_belongs_to_one_phase(time: Time) -> None:
    of = Clock()
    time.now += 1
    of.begin("solving")
    time.now += 2
    with of.during("passes"):
        time.now += 4
        with of.during("digests"):
            time.now += 8
        time.now += 16
    time.now += 32
    of.begin("reading")
    time.now += 64
    assert of.seconds == {"reading": 65, "solving": 34, "passes": 20, "digests": 8}
    assert sum(of.seconds.values()) == time.now - 100


def passed(number: int, gap: float, seconds: float, buckets: int | None = None, error: float = 0.0) -> Record:
    return Record(number, 1.0 - error, 1.0, 1.0 - gap, gap, buckets, seconds)


def test_what_is_left_after_the_first_pass(time: Time) -> None:
    """A pass leaves a twentieth: from 0.7 to 0.001 it takes two or three."""
    said = Forecast(Effort(), usual_rate("dane", 20)).after(passed(1, 0.7, 30.0))
    assert said == "about 75 s to go: 2 to 3 passes of 30 s"


def test_a_pass_on_the_grid_takes_longer_later(time: Time) -> None:
    """The error should be 0.35 of the tolerance. At 16 times that, the last pass has 4 times the buckets. At 1.1 times
    that, the grid stays as it is."""
    said = Forecast(Effort(), usual_rate("dane", 20)).after(passed(1, 0.7, 200.0, 50, error=56e-4))
    assert said == "about 17 minutes to go: 2 to 3 passes of 7 minutes"
    said = Forecast(Effort(), usual_rate("dane", 20)).after(passed(1, 0.7, 200.0, 50, error=3.8e-4))
    assert said == "about 8 minutes to go: 2 to 3 passes of 3 minutes"


def test_nothing_is_said_of_a_short_time_or_of_the_end(time: Time) -> None:
    effort = Effort(max_passes=3)
    assert Forecast(effort, 0.05).after(passed(1, 0.7, 1.0)) is None
    assert Forecast(effort, 0.05).after(passed(1, 0.0009, 100.0)) is None
    of = Forecast(effort, 0.05)
    said = [of.after(passed(n, 0.7, 100.0)) for n in (1, 2, 3)]
    assert said[0] == "about 3 minutes to go: 2 passes of 100 s"
    assert said[2] is None


def test_a_gap_that_cannot_be_reached_takes_all_passes(time: Time) -> None:
    said = Forecast(Effort(tol=0.0, max_passes=11), 0.05).after(passed(1, 0.7, 10.0))
    assert said == "about 100 s to go: 10 passes of 10 s"


def test_an_infinite_gap_is_a_gap_of_1(time: Time) -> None:
    """A pass over very many rows may prove nothing at first."""
    said = [Forecast(Effort(), 0.05).after(passed(1, gap, 30.0)) for gap in (inf, 1.0)]
    assert said[0] == said[1] == "about 75 s to go: 2 to 3 passes of 30 s"


def test_it_is_said_again_if_it_takes_twice_as_long(time: Time) -> None:
    """Each pass leaves half of the gap. What was said last is not exceeded by more than itself."""
    of, said, left = Forecast(Effort(max_passes=50), 0.05), 0, 10
    ends: list[float] = []
    for n in range(left):
        time.now += 60
        heard = of.after(passed(n + 1, 0.001 * 2.0 ** (left - n) * 0.99, 60.0))
        said += heard is not None
        ends.append(of._end + of._said)
    assert 1 < said < 5
    assert time.now <= ends[-1]


def test_durations() -> None:
    assert [duration(s) for s in (0.5, 59.6, 120, 7200)] == ["0.5 s", "60 s", "2 minutes", "2 hours"]
