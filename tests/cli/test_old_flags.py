"""The flags of the old programs."""

import numpy as np
import pytest

from hinge.cli.libsvm import class_weights, files_of, parsed, verdict


def test_flags_are_read_as_the_old_programs_do():
    flags = parsed(["-s", "0", "-w-1", "2", "-w1", "5.5", "-q", "a.svm", "-c", "1e-3", "b"], "scw")
    assert flags.values == {"s": 0.0, "q": 1.0, "c": 1e-3}
    assert flags.weights == {"-1": 2.0, "1": 5.5} and flags.files == ["a.svm", "b"]
    assert class_weights(flags.weights, np.array([1, -1, 3])) == {-1: 2.0, 1: 5.5, 3: 1.0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-z", "1"], "no flag -z"),
        (["-c"], "missing after -c"),
        (["-c", "x"], "not 'x'"),
        (["-wspam", "5"], "A class follows -w"),
    ],
)
def test_what_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        parsed(arguments, "cw")
    with pytest.raises(ValueError, match="These files are needed"):
        files_of(parsed([], "c"), ("A", "B"), optional=1)


def test_sentences_are_those_of_the_old_programs():
    y = np.array([1, -1, 1])
    assert (
        verdict(np.array([1, 1, 1]), y, False, (" (classification)", ""))
        == "Accuracy = 66.6667% (2/3) (classification)"
    )
    said = verdict(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]), True, ("", " (regression)"))
    assert said.splitlines()[0] == "Mean squared error = 1 (regression)" and said.endswith("= 1 (regression)")
