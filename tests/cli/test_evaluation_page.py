"""The page of an evaluation."""

from hinge.cli.evaluate import page


def test_a_page_of_numbers_has_no_pictures_and_escapes_names():
    found = {"model": "<m>", "data": "d", "kind": "numbers", "rows": 2, "r2": None, "largest_error": 1.0}
    found |= dict.fromkeys(("mean_absolute_error", "root_mean_squared_error", "median_absolute_error"), 0.5)
    text = page(found)
    assert "&lt;m&gt; on d" in text and "<svg" not in text and "mean abs. error" in text
