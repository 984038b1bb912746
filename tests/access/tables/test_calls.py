import json
import os
import signal
import sqlite3
import threading
import time
import urllib.error

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.tables.calls import Calls, OracleError, line_of, numbers, unbroken
from hinge.access.tables.table import EVERYWHERE, Line


def test_a_call_is_made_until_it_answers():
    asked = []

    def answer(x):
        asked.append(x)
        if len(asked) < 3:
            raise OSError("away")
        return x + 1

    calls = Calls(5, 0.0, None)
    assert calls.make("Row 1", lambda a: a, answer, 4) == 5
    assert asked == [4, 4, 4] and calls.made == 3


def test_it_is_given_up_with_the_last_cause():
    calls = Calls(2, 0.0, None)
    with pytest.raises(OracleError, match="Row 7 could not be had in 3 calls; the last ended with ValueError: no"):
        calls.make("Row 7", lambda a: a, lambda: (_ for _ in ()).throw(ValueError("no")))
    with pytest.raises(OracleError, match="in one call"):
        Calls(0, 0.0, None).make("Row 7", lambda a: 1 / 0, lambda: 1)


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (sqlite3.DatabaseError("file is not a database"), "sqlite3.DatabaseError: file is not a database."),
        (urllib.error.URLError("refused"), "urllib.error.URLError: <urlopen error refused>."),
        (ConnectionResetError(104, "reset by peer"), r"ConnectionResetError: \[Errno 104\] reset by peer."),
        (json.JSONDecodeError("Expecting value", "", 0), "JSONDecodeError: Expecting value: line 1 column 1"),
        (StopIteration(), "ended with StopIteration. What"),
        (Mute(), "Mute: <exception str"),
    ],
)
def test_any_cause_is_told(cause, words):
    def fail():
        raise cause

    with pytest.raises(OracleError, match=words):
        Calls(1, 0.0, 5.0).make("Row 7", lambda a: a, fail)


def test_waits_double():
    began = time.perf_counter()
    with pytest.raises(OracleError):
        Calls(3, 0.02, None).make("x", lambda a: 1 / 0, lambda: 1)
    assert 0.14 <= time.perf_counter() - began < 1.0


def test_a_call_that_takes_too_long_is_left_to_itself():
    never = threading.Event()
    with pytest.raises(OracleError, match=r"no answer within 0\.05 seconds"):
        Calls(0, 0.0, 0.05).make("x", lambda a: a, never.wait, 30)
    never.set()
    assert Calls(0, 0.0, 5.0).make("x", lambda a: a, lambda: 3) == 3


BAD = {
    "retries": [(-1, 0, None), (1.5, 0, None)],
    "wait": [(1, -1, None), (1, np.inf, None)],
    "timeout": [(1, 0, 0), (1, 0, "x")],
}


@pytest.mark.parametrize(("settings", "words"), [(each, words) for words in BAD for each in BAD[words]])
def test_settings_are_checked(settings, words):
    with pytest.raises(ValueError, match=words):
        Calls(*settings)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_for_what_was_paid_for():
    done = []
    with pytest.raises(KeyboardInterrupt), unbroken():
        os.kill(os.getpid(), signal.SIGINT)
        done.append(1)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "answer",
    [
        [0.0, 2.0, 0.0, 1.0],
        (np.array([1, 3]), np.array([2.0, 1.0])),
        ([3, 1], [1, 2]),
        sp.csr_array([[0.0, 2.0, 0.0, 1.0]]),
        sp.coo_array(np.array([[0.0], [2.0], [0.0], [1.0]])),
        Line(EVERYWHERE, np.array([0.0, 2.0, 0.0, 1.0])),
    ],
)
def test_lines_come_in_many_forms(answer):
    at, values = line_of(answer, 4)
    out = np.zeros(4)
    out[at if len(at) else slice(None)] = values
    assert out.tolist() == [0.0, 2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([1.0, 2.0], "2 values came, not 4"),
        ("abcd", "no sequence"),
        (b"1234", "no sequence"),
        (bytearray(b"1234"), "a bytearray came, which is no sequence of numbers"),
        (memoryview(b"1234"), "a memoryview came, which is no sequence of numbers"),
        ({"error": "quota"}, "no sequence"),
        ([None] * 4, "numbers"),
        (np.full(4, np.longdouble("1e4000")), "value 0 of 4 is inf"),
        ([1.0, 2.0, 3.0, np.nan], "value 3 of 4 is nan"),
        ([1.0, "x", 3.0, 4.0], "numbers"),
        (([0.5, 1.5], [1.0, 2.0]), "whole numbers"),
        (([0, 4], [1.0, 2.0]), "position 4 is not one of 0 to 3"),
        (([1, 1], [1.0, 2.0]), "comes twice"),
        (sp.csr_array(np.ones((2, 4))), "shape"),
    ],
)
def test_answers_that_are_none(answer, words):
    with pytest.raises(ValueError, match=words):
        line_of(answer, 4)


def test_numbers():
    assert numbers([True, 2, 3.5], 3).tolist() == [1.0, 2.0, 3.5]
