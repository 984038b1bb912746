"""The site in a real browser: as it is on a desk, on a phone and in the dark; and its search.

It is that of `build/docs`, which ``python -m docs.build`` makes. With ``HINGE_SHOTS=folder`` pictures of the pages are
left there.
"""

import functools
import os
import shutil
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from docs_snippets import ROOT

pytest.importorskip("selenium", reason="selenium drives the browser")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

SITE = ROOT / "build" / "docs"
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium or chromedriver is not installed"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site in build/docs: run python -m docs.build"),
]
PAGES = (
    "index.html",
    "start.html",
    "which_solver.html",
    "papers/pegasos.html",
    "gallery/index.html",
    "gallery/plot_which_solver.html",
    "api/generated/hinge.LinearSVC.html",
)


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and writes no log."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
    for flag in (*flags, "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('browser')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def show(browser, address, page, width, dark):
    """Open a page under these conditions, and wait until its formulas are set."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    browser.get_log("browser")
    browser.get(f"{address}/{page}")
    settled = (
        "return document.readyState === 'complete' && [...document.querySelectorAll('.math')]"
        ".every(m => m.querySelector('mjx-container'))"
    )
    wait(lambda: browser.execute_script(settled))


def wait(ready, seconds=20):
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, "the page did not get ready"
        time.sleep(0.05)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (1280, True)], ids=["desk", "phone", "dark"])
def test_a_page_draws_without_errors_and_fits(browser, address, page, width, dark, tmp_path):
    show(browser, address, page, width, dark)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    shades = [float(part) for part in colour.strip("rgba()").split(",")[:3]]
    assert (max(shades) < 64) if dark else (min(shades) > 192)
    broken = "return [...document.images].filter(i => i.loading !== 'lazy' && !i.naturalWidth).map(i => i.src)"
    assert browser.execute_script(broken) == []
    folder = Path(os.environ.get("HINGE_SHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{page.replace('/', '-').removesuffix('.html')}-{width}{'-dark' * dark}.png"
    assert browser.save_screenshot(str(folder / name))
    assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_search_finds_pegasos(browser, address):
    show(browser, address, "search.html?q=Pegasos", 1280, False)
    found = "return [...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'))"
    wait(lambda: len(browser.execute_script(found)) > 3)
    links = browser.execute_script(found)
    assert any("papers/pegasos.html" in link for link in links)
    assert any("hinge.solvers.Pegasos" in link for link in links)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_every_public_name_is_in_the_site(browser, address):
    from docs import reference

    pages = {page.stem for page in (SITE / "api" / "generated").glob("*.html")}
    assert set(reference.public()) <= pages
    show(browser, address, "api/generated/hinge.SVC.html", 1280, False)
    assert "Examples" in browser.find_element(By.TAG_NAME, "article").text


def test_the_report_of_the_reproduction_is_there():
    assert (SITE / "reproduction" / "report.html").stat().st_size > 1_000_000
