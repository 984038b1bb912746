"""The page in a real browser: it draws, reacts, loads nothing, and fits a phone, the dark and paper."""

import json
import shutil
import time

import pytest

pytest.importorskip("matplotlib", reason="figures are drawn by matplotlib")
pytest.importorskip("plotly", reason="the page's figures are plotly's")
pytest.importorskip("selenium", reason="selenium drives the browser")

from report.made_up import sections
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from hinge.experiments import find
from hinge.experiments.runner import machine, run
from hinge.report.outcome import Section
from hinge.report.page import Heading, write_report

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium or chromedriver is not installed"),
]
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
SAYS = {"title": "Made up", "scale": "tiny", "command": "hinge reproduce"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("made_up"), sections(), Heading(machine="machine 0", **SAYS))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    out = tmp_path_factory.mktemp("measured")
    found = []
    for experiment in find(["pegasos-figure3"]):
        (done,) = run([experiment], "tiny", out)
        assert not done.failures
        outcome = experiment.outcome(done.results, "tiny")
        found.append(Section.from_run(experiment, outcome, done.results, done.failures))
    return write_report(out, found, Heading(machine=machine(), **SAYS))


PAPER = "#p-Nobody-2000"


def show(browser, path, *, width=1280, dark=False, media="", figures=1, at=PAPER):
    """Open the page of a paper under these conditions, and wait until so many figures are drawn."""
    mobile = width < 700
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": mobile}
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get("about:blank")  # or only the part after # would change
    browser.get(path.as_uri() + at)
    for figure in browser.find_elements(By.TAG_NAME, "figure")[: 0 if media == "print" else figures]:
        browser.execute_script("arguments[0].scrollIntoView({behavior: 'instant'})", figure)
        wait(
            lambda figure=figure: browser.execute_script(
                "return [...arguments[0].querySelectorAll('.plot')]"
                ".every(plot => plot.querySelector('.main-svg, .empty'))",
                figure,
            )
        )


def wait(ready, seconds=20):
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, "the page did not get ready"
        time.sleep(0.05)


def visible(browser, label):
    """For each panel with such a series whether its traces, band and line, are shown."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.js-plotly-plot')].map(p => p.data.filter(t => "
        "t.legendgroup === arguments[0]).map(t => t.visible)).filter(v => v.length)",
        label,
    )


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("which", ["made_up", "measured"])
def test_it_draws_without_an_error_or_a_request(browser, which, request):
    show(browser, request.getfixturevalue(which), figures=2)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.broken") is None
    plots, panels, lines = browser.execute_script(
        "return ['.js-plotly-plot', '.panel', '.scatterlayer .trace']"
        ".map(kind => document.querySelectorAll(kind).length)"
    )
    empty = 3 if which == "made_up" else 0
    assert plots == panels - empty == (5 if which == "made_up" else 4)
    assert lines >= plots
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert any(url.startswith("file:") for url in asked)
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)


def test_a_legend_entry_hides_its_series_with_the_band_in_all_panels(browser, made_up):
    show(browser, made_up)
    button = browser.find_element(By.CSS_SELECTOR, '.legend button[data-label="solver 0"]')
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    assert visible(browser, "solver 0") == [[True, True], [True, True]]
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    wait(lambda: visible(browser, "solver 0") == [[False, False], [False, False]])
    assert visible(browser, "solver 1") == [[True, True]]
    button.click()
    wait(lambda: visible(browser, "solver 0") == [[True, True], [True, True]])
    # A double click, but not one that a slow machine takes for two clicks.
    twice = "const b = arguments[0]; b.click(); b.click(); b.dispatchEvent(new MouseEvent('dblclick'))"
    browser.execute_script(twice, button)
    wait(lambda: visible(browser, "solver 1") == [[False, False]])
    assert visible(browser, "solver 0") == [[True, True], [True, True]]


def test_an_axis_switches_between_linear_and_logarithmic(browser, made_up):
    show(browser, made_up)
    button = browser.find_element(By.CSS_SELECTOR, ".switches button")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    kind = "return document.querySelector('.js-plotly-plot')._fullLayout.xaxis.type"
    assert (browser.execute_script(kind), button.text) == ("log", "x log")
    button.click()
    wait(lambda: browser.execute_script(kind) == "linear")
    assert button.text == "x linear"


def test_claims_are_shown_by_verdict(browser, made_up):
    show(browser, made_up, at="", figures=0)
    browser.execute_script("scrollTo({top: 0, behavior: 'instant'})")
    chip = browser.find_element(By.CSS_SELECTOR, '.chip[data-show="no"]')
    assert chip.text.split() == ["✗", "1", "not", "reproduced"]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", chip)
    chip.click()
    rows = browser.find_elements(By.CSS_SELECTOR, "#claims tr[data-verdict]")
    assert [row.is_displayed() for row in rows] == [False, False, True, False]
    assert browser.find_element(By.CLASS_NAME, "count").text == "1 of 4 claims shown"
    chip.click()
    assert all(row.is_displayed() for row in rows)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_needs_sideways_scrolling(browser, made_up, width):
    show(browser, made_up, width=width, figures=2)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    lefts = browser.execute_script(
        "return [...document.querySelector('.panels').children].map(p => p.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == (1 if width == 360 else 2)


def test_the_dark_page_is_dark_and_so_are_its_plots(browser, made_up):
    colours = {}
    for dark in (False, True):
        show(browser, made_up, dark=dark)
        ink = "return document.querySelector('.js-plotly-plot')._fullLayout.font.color"
        colours[dark] = background(browser), browser.execute_script(ink)
    assert all(light != dark for light, dark in zip(colours[False], colours[True], strict=True))
    red, green, blue = (int(part) for part in colours[True][0].strip("rgb()").split(","))
    assert max(red, green, blue) < 64


def test_a_page_that_turns_dark_takes_its_plots_along(browser, made_up):
    show(browser, made_up)
    stroke = "return document.querySelector('.js-plotly-plot .scatterlayer .js-line').style.stroke"
    before = browser.execute_script(stroke)
    scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": scheme})
    wait(lambda: browser.execute_script(stroke) != before)


@pytest.mark.parametrize("dark", [False, True])
def test_paper_gets_pictures_on_white(browser, made_up, dark):
    show(browser, made_up, width=794, media="print", dark=dark, at="")
    assert background(browser) == "rgb(255, 255, 255)"
    stills = browser.find_elements(By.CLASS_NAME, "still")
    assert len(stills) == 2 and all(still.is_displayed() for still in stills)
    wait(lambda: all(browser.execute_script("return arguments[0].naturalWidth", still) > 100 for still in stills))
    assert not any(live.is_displayed() for live in browser.find_elements(By.CLASS_NAME, "live"))


def test_each_paper_has_a_page_and_the_first_screen_says_what_signs_mean(browser, made_up):
    show(browser, made_up, width=1300, at="", figures=0)
    seen = "return [...document.querySelectorAll('#overview, article.paper')].map(part => part.checkVisibility())"
    assert browser.execute_script(seen) == [True, False, False]
    bottom = "return document.querySelector('.legend-of-signs').getBoundingClientRect().bottom"
    assert browser.execute_script(bottom) < 800
    browser.execute_script("document.querySelector('#overview a[href=\"#p-Nobody-2001\"]').click()")
    wait(lambda: browser.execute_script(seen) == [False, False, True])
    browser.execute_script("document.querySelector('nav a[href=\"#x-made-up\"]').click()")
    wait(lambda: browser.execute_script(seen) == [False, True, False])
    browser.execute_script("document.querySelector('nav a[href=\"#overview\"]').click()")
    wait(lambda: browser.execute_script(seen) == [True, False, False])


@pytest.mark.parametrize("media", ["", "print"])
def test_a_papers_table_fits_the_screen_and_a_sheet(browser, made_up, media):
    show(browser, made_up, width=700 if media else 1300, media=media, figures=0)
    box = "const box = document.querySelector('.printed').parentElement; return box.scrollWidth - box.clientWidth"
    assert browser.execute_script(box) <= 0


def test_of_a_paper_on_the_screen_nothing_else_is_printed(browser, made_up):
    show(browser, made_up, width=794, media="print")
    seen = "return [...document.querySelectorAll('#overview, article.paper')].map(part => part.checkVisibility())"
    assert browser.execute_script(seen) == [False, True, False]
    show(browser, made_up, width=794, media="print", at="")
    assert browser.execute_script(seen) == [True, True, True]
