import math
import re

import numpy as np
import pytest

from hinge import LinearSVC
from hinge.constraints import ALL, FAR, FLAG, INFINITE, PATH, Constraints, choice, count, number, scale


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(3), np.int8(1), np.longdouble(2), 1e-300, 10**300])
def test_numbers_of_any_kind(value):
    number(above=0).check("C", value)


@pytest.mark.parametrize(
    "value", [0, -1, np.nan, np.inf, -np.inf, 10**400, "1", True, np.True_, 1j, [1], np.ones(1), np.float32(np.inf)]
)
def test_what_is_no_positive_number(value):
    with pytest.raises(ValueError, match=re.escape(f"C must be a number greater than 0, got {value!r}.")):
        number(above=0).check("C", value)


@pytest.mark.parametrize(
    "constraint, fine, wrong, words",
    [
        (number(), -1e300, -math.inf, "a finite number"),
        (number(least=0), 0, -1, "a number of at least 0"),
        (number(above=0, below=1), 0.5, 0, "a number greater than 0 and less than 1"),
        (number(above=0, below=1), math.nextafter(1, 0), 1, "a number greater than 0 and less than 1"),
        (number(above=0, most=1), 1, 1.5, "a number greater than 0 and at most 1"),
        (number(least=-2, most=3), -2, 3.1, "a number from -2 to 3"),
        (scale(), FAR, 0, "a number greater than 0"),
        (scale(), 1 / FAR, 1e-101, "a number from 1e-100 to 1e+100"),
        (scale(most=1), 1, 2, "a number greater than 0 and at most 1"),
        (scale(or_zero=True), 0, -1, "a number of at least 0"),
        (scale(or_zero=True), np.float32(0), False, "a number of at least 0"),
        (scale(or_zero=True), 0.0, 1e101, "a number from 1e-100 to 1e+100"),
        (scale() | INFINITE, math.inf, -math.inf, "a number greater than 0, or infinite"),
        (count(), 1, 0, "a whole number of at least 1"),
        (count(0), np.int8(0), 0.0, "a whole number of at least 0"),
        (count(2, 9), 9, 10, "a whole number of at least 2 and at most 9"),
        (count() | ALL | None, -1, -2, "a whole number of at least 1, or -1, or None"),
        (count() | ALL | None, None, True, "a whole number of at least 1, or -1, or None"),
        (choice("free", "penalized"), "free", "fre", "one of 'free', 'penalized'"),
        (choice("free", "penalized"), "free", None, "one of 'free', 'penalized'"),
        (choice("free"), "free", ("free",), "'free'"),
        (FLAG, np.False_, "yes", "True or False"),
        (PATH | None, "folder", 3, "the path of a folder, or None"),
    ],
)
def test_the_error_says_what_is_allowed(constraint, fine, wrong, words):
    constraint.check("it", fine)
    with pytest.raises(ValueError, match=f"^{re.escape(f'it must be {words}, got {wrong!r}.')}$"):
        constraint.check("it", wrong)


def test_the_first_wrong_attribute_is_named():
    class Owner:
        rows, name = 3, "a"

    constraints = Constraints(rows=count(), name=choice("a", "b"))
    constraints.check(Owner())
    Owner.name = "c"
    with pytest.raises(ValueError, match="name must be one of 'a', 'b', got 'c'"):
        constraints.check(Owner())


def test_a_misspelled_parameter_is_answered_by_the_nearest():
    with pytest.raises(TypeError, match=r"'max_read'\. Did you mean max_reads\?"):
        LinearSVC(max_read=3)
    with pytest.raises(TypeError, match=r"'colour'\.$"):
        LinearSVC(colour=3)
