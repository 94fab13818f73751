"""Days that a column of dates keeps to: firsts of a month, Mondays, working days."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# So many nats a rule must be beyond chance: one in a million; of months between dates
# that keep to a day of the month, one in a thousand.
_SURE = math.log(1e6)
_SURE_OF_MONTHS = math.log(1e3)
# Lengths of its steps in months, and the days of a month that all months have.
_STEPS = (12, 6, 3, 1)
_N_DAYS = 28
_DAYS_A_MONTH = 365.2425 / 12
# Day 0 of the epoch was a Thursday; Monday is 0.
_FIRST_WEEKDAY = 3


@dataclass(frozen=True)
class Calendar:
    """A rule that days follow, which count from the epoch.

    Examples
    --------
    >>> import numpy as np
    >>> months = np.arange("2020-01", "2020-12", dtype="M8[M]").astype("M8[D]")
    >>> calendar = Calendar.fit(months.astype(int))
    >>> days = np.array(["2021-03-14", "2021-03-20"], "M8[D]").astype(int)
    >>> calendar.nearest(days).astype("M8[D]").astype(str).tolist()
    ['2021-03-01', '2021-04-01']
    """

    #: Months from one day to the next; 0 if they follow a week.
    step: int
    #: Of a month: the remainder, by the step, of the months since the epoch.
    phase: int
    #: Of a month: its day, from 0, −1 for the last one of the month before. Of a week:
    #: its days as the bits of a number, the lowest for Monday.
    day: int

    @classmethod
    def fit(cls, days: np.ndarray) -> Calendar | None:
        """Find the rule that observed days follow, shape (n,); None without any.

        Whether they might by chance depends on how many different ones there are.
        """
        days = np.unique(days)
        if len(days) < 2:
            return None
        return cls._of_months(days) or cls._of_weeks(days)

    @classmethod
    def _of_months(cls, days: np.ndarray) -> Calendar | None:
        of_month = days - _firsts(_months(days))
        is_last = (_months(days + 1) > _months(days)).all()
        day = -1 if is_last else int(of_month[0])
        if day >= _N_DAYS or not (is_last or (of_month == day).all()):
            return None
        months = _months(days - day)
        for step in _STEPS:
            # The first of the dates may be any.
            surprise = (len(days) - 1) * np.log([step * _DAYS_A_MONTH, step])
            sure = surprise >= (_SURE, _SURE_OF_MONTHS if step > 1 else 0.0)
            if sure.all() and (months % step == months[0] % step).all():
                return cls(step, int(months[0] % step), day)
        return None

    @classmethod
    def _of_weeks(cls, days: np.ndarray) -> Calendar | None:
        weekdays = np.unique(_weekdays(days))
        n_ways = math.comb(7, len(weekdays))
        if len(days) * math.log(7 / len(weekdays)) < _SURE + math.log(n_ways):
            return None
        return cls(0, 0, int(np.sum(1 << weekdays)))

    @classmethod
    def from_array(cls, told: np.ndarray) -> Calendar:
        """Undo ``to_array``; ValueError for what no fit finds."""
        step, phase, day = (int(value) for value in told)
        of_month = step in _STEPS and 0 <= phase < step and -1 <= day < _N_DAYS
        if not (of_month or (step == phase == 0 and 0 < day < 2**7 - 1)):
            raise ValueError("calendar")
        return cls(step, phase, day)

    def to_array(self) -> np.ndarray:
        """Return it as numbers, shape (3,)."""
        return np.array([self.step, self.phase, self.day], dtype=np.int64)

    def nearest(self, days: np.ndarray) -> np.ndarray:
        """Move days to the nearest ones that follow the rule, shape (n,)."""
        before, after = self.around(days)
        return np.where(days - before <= after - days, before, after)

    def evenly(self, moments: np.ndarray) -> np.ndarray:
        """Move draws, in days since the epoch, to days that follow it, shape (n,).

        Of a week, what lies on other days goes to each of its days alike: were it to go
        to the nearest, draws of working days would mostly be Mondays and Fridays.
        """
        days = np.rint(moments).astype(np.int64)
        n_days = self.day.bit_count()
        if self.step or n_days == 1:
            return self.nearest(days)
        before, after = self.around(days)
        apart = np.maximum(after - before - 1, 1)
        turn = ((moments - before - 0.5) / apart * n_days).astype(np.int64)
        turn = turn.clip(0, n_days - 1)
        n_back = (n_days + 1) // 2
        is_back = turn < n_back
        moved = np.where(is_back, before, after)
        further = np.where(is_back, turn, n_days - 1 - turn)
        for step in range(1, n_back):
            earlier, later = self.around(moved - 1)[0], self.around(moved)[1]
            next_one = np.where(is_back, earlier, later)
            moved = np.where(further >= step, next_one, moved)
        return np.where(before == days, days, moved)

    def around(self, days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the last days that follow it up to some days, and the next ones."""
        if self.step:
            month = _months(days - self.day)
            month -= (month - self.phase) % self.step
            return _firsts(month) + self.day, _firsts(month + self.step) + self.day
        follows = [weekday for weekday in range(7) if self.day >> weekday & 1]
        week, weekdays = range(7), _weekdays(days)
        back = [min((day - own) % 7 for own in follows) for day in week]
        on = [min((own - day - 1) % 7 + 1 for own in follows) for day in week]
        return days - np.array(back)[weekdays], days + np.array(on)[weekdays]


def _months(days: np.ndarray) -> np.ndarray:
    """Return the months since the epoch in which days lie."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def _firsts(months: np.ndarray) -> np.ndarray:
    """Return the first days of months."""
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def _weekdays(days: np.ndarray) -> np.ndarray:
    return (days + _FIRST_WEEKDAY) % 7
