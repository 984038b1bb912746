"""The Python blocks of Markdown pages, run in order, with what they may take for granted."""

from pathlib import Path

from docs.outputs import FENCE, given

ROOT = Path(__file__).resolve().parents[1]


def blocks(page):
    """The Python of a page, one text a block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def run(page):
    """Run all blocks of a page in one namespace."""
    names = given()
    for number, block in enumerate(blocks(page), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    return names
