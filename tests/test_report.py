"""The report: right, escaped, and at work in a real browser."""

import io
import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from mmfs import MMFS
from mmfs.cli import app
from mmfs.cli.console import table_of
from mmfs.io import Table, write_table
from mmfs.report.record import made_redundant, shown

pytestmark = pytest.mark.slow

HOSTILE = [
    "<script>window.broken = 1</script>",
    "</script><script>window.broken = 2</script>",
    '"><img src=x onerror="window.broken=3">',
    "' onmouseover='window.broken=4",
    "{{ 7 * 7 }}{% raw %}",
    "[bold red]markup[/bold red]",
    "&lt;already&gt; &amp; escaped",
    "right \u202eto left",
    "new\nline",
    "x" * 300,
    ":smile: \x1b[31mred\x00",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on a file whose features have hostile names."""
    folder = tmp_path_factory.mktemp("<b>report")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 40))
    y = X[:, :11].sum(axis=1) + 0.1 * rng.standard_normal(120) > 0
    X[:, 11:21] = X[:, :10] + 0.2 * rng.standard_normal((120, 10))
    plain = [*(f"near {i}" for i in range(10)), *(f"noise {i}" for i in range(19))]
    names = np.array([*HOSTILE, *plain])
    table = Table(X, np.where(y, "</title><b>yes", "no"), names, target_name="<i>class")
    data = folder / "<u>data.parquet"
    write_table(table, data)
    path = folder / "page.html"
    words = ["select", str(data), "-t", "<i>class", "-k", "12", "--cv", "3", "--report", str(path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    return path


def test_terminal_shows_names_as_they_are():
    console = Console(width=400, record=True, file=io.StringIO())
    console.print(table_of(("feature",), [(name,) for name in HOSTILE]))
    text = console.export_text()
    assert all(shown(name) in text for name in HOSTILE)
    assert "\\u202e" in text and "new\\nline" in text and ":smile:" in text


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]


def test_the_page_needs_nothing_else_and_runs_nothing_foreign(page):
    text = page.read_text("utf-8")
    tags = Tags()
    tags.feed(text)
    assert {"img", "iframe", "object", "embed", "u", "b"}.isdisjoint(tags.seen)
    assert tags.seen.count("script") == 2  # the record, and our own
    assert not [a for a in tags.attributes if a[1].startswith("on")]
    loaded = [a for a in tags.attributes if a[1] in ("src", "href", "xlink:href", "action")]
    assert loaded == [("link", "href", "data:,")]
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", text)
    assert "49" not in re.findall(r"<td class=\"name\">(.*?)</td>", text)


def test_the_record_is_in_the_page(page):
    text = page.read_text("utf-8")
    record = json.loads(text.split('id="record">')[1].split("</script>")[0])
    assert len(record["selected"]) == 12
    assert {row["feature"] for row in record["selected"]} & set(HOSTILE)
    assert record["data"]["file"].endswith("<u>data.parquet")


def test_redundant_features_go_to_the_selected_one_they_are_most_like():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    X[:, 6:] = X[:, :6] + 0.1 * rng.standard_normal((300, 6))
    y = X[:, :6] @ [6, 5, 4, 3, 2, 2]
    selector = MMFS(6).fit(X, y)
    found = made_redundant(selector.explain(X, n_dropped=20))
    assert set(found) == set("012345")
    for j in range(6, 12):
        assert str(j) in found[str(j % 6)]


@pytest.fixture(scope="module")
def browser():
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("no browser: Debian's chromium and chromium-driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
    ):  # fmt: skip
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def show(browser, page, width=1280, theme="light"):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(page.as_uri())


def column(browser, number, table="#kept"):
    script = (
        f"return [...document.querySelectorAll('{table} tbody tr')].filter(r => !r.hidden)"
        f".map(r => r.cells[{number}].dataset.value ?? r.cells[{number}].textContent.trim())"
    )
    return browser.execute_script(script)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_page_renders_without_a_word_on_the_console(browser, page, width, theme):
    show(browser, page, width, theme)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.broken") is None
    assert browser.execute_script("return document.querySelectorAll('svg.plot').length") == 4
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width  # nothing sticks out
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3]))
    assert (brightness > 600) == (theme == "light")
    names = browser.execute_script(
        "return [...document.querySelectorAll('#kept .name')].map(e => e.textContent)"
    )
    assert len(names) == 12 and {shown(name) for name in HOSTILE} & set(names)


def test_page_sorts(browser, page):
    show(browser, page)
    headings = browser.find_elements("css selector", "#kept th button")
    ranks = column(browser, 0)
    assert ranks == [str(i) for i in range(1, 13)]
    headings[3].click()
    rising = [float(value) for value in column(browser, 3)]
    assert rising == sorted(rising)
    headings[3].click()
    assert [float(value) for value in column(browser, 3)] == sorted(rising, reverse=True)
    sort = headings[3].find_element("xpath", "..").get_attribute("aria-sort")
    assert sort == "descending"
    headings[0].click()
    assert column(browser, 0) == ranks


def test_page_searches(browser, page):
    show(browser, page)
    box = browser.find_element("id", "search")
    box.send_keys("NEAR 3")
    shown = column(browser, 1) + column(browser, 0, "#dropped")
    text = browser.find_element("id", "found").text
    assert text == f"{len(shown)} of 40 features" and 1 <= len(shown) < 40
    box.clear()
    box.send_keys("zzz no such thing")
    assert column(browser, 0) == [] == column(browser, 0, "#dropped")


def test_page_prints(browser, page):
    import base64

    show(browser, page, theme="dark")
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
