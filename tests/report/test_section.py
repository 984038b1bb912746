"""Sections of a report."""

from types import SimpleNamespace

from hinge.report.outcome import Outcome, Section


def test_a_section_says_what_its_experiment_says():
    about = dict(name="n", title="t", paper="p", place="Table 1", question="why?")
    outcome, results = Outcome(()), [object()]
    experiment = SimpleNamespace(name="n", about=SimpleNamespace(**about))
    section = Section.from_run(experiment, outcome, results, ["it broke"])
    assert {name: getattr(section, name) for name in about} == about
    assert section.outcome is outcome and section.results is results and section.failures == ["it broke"]
    assert Section(**about, outcome=outcome).failures == ()
