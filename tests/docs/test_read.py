"""The page of algorithms beside their code: every line of an algorithm is somewhere in the code that runs."""

import pytest

from docs import read


@pytest.mark.parametrize("side", read.ALGORITHMS, ids=lambda side: side.title)
def test_every_line_of_an_algorithm_is_in_its_code(side):
    printed = read.algorithm(side)
    assert len(printed.splitlines()) >= 6
    # Lines outside of the loop are in `init` and `solution`; input has no code.
    loop = [line for line in printed.splitlines() if line.startswith("    ")]
    assert read.numbers("\n".join(loop)) <= read.numbers(read.code(side))
    assert read.numbers(read.code(side)) <= read.numbers(printed)


def test_the_page_has_all_of_them(tmp_path):
    target = tmp_path / "read.md"
    read.write(target)
    page = target.read_text(encoding="utf-8")
    assert page.count("```text") == page.count("```python") == len(read.ALGORITHMS)
    assert '"""' not in page
