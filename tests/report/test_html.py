"""The HTML page: by its text, and in a headless browser."""

import dataclasses
import functools
import html
import json
import os
import re
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chainer2torch.report import baseline, formats, verification
from chainer2torch.report.causes import causes
from chainer2torch.report.extras import Extras, Step
from chainer2torch.report.formats.html import diff, render
from chainer2torch.report.linediff import opcodes
from chainer2torch.report.model import MIGRATED, FileRow, Report
from tests.support import reports
from tests.support.reports import LINEAR

CHECKS = (
    verification.Check("relu", 3, 0, 0, "", (("float32 value", 1e-7), ("float64 value", 0.0))),
    verification.Check("bad", 0, 2, 0, reports.HOSTILE, (), (("/conv", 1e-7), (reports.HOSTILE, 1e3))),
)


@functools.cache
def page(**options):
    return render(reports.report(), reports.extras(**options))


# -- without a browser ---------------------------------------------------------------------------------------------


def test_nothing_is_fetched():
    text = page(checks=CHECKS)
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", text) and "url(" not in text and "@import" not in text
    assert not re.findall(r"https?://", text)
    assert "default-src 'none'" in text


def test_source_cannot_become_markup():
    text = page(checks=CHECKS)
    assert reports.HOSTILE not in text and "&lt;script&gt;" in text
    scripts = re.findall(r"<script\b[^>]*>", text)
    assert len(scripts) == 2 + 4 + 1, "strings, codes, four files, the page's own"
    assert text.count("</script>") == len(scripts)


def test_two_pages_have_identical_bytes():
    assert render(reports.report(), reports.extras()) == render(reports.report(), reports.extras())


def test_a_page_without_anything():
    assert "<strong>0</strong> Chainer sites" in render(Report(), reports.extras())


@pytest.mark.parametrize(
    "before, after",
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("", "a\n"),
        ("a\r\nb", "a\r\nc"),
        ("a\n" * 50, "a\n" * 20 + "b\n" + "a\n" * 30),
        ("x\ny\nz", "z\ny\nx"),
        ("a\fb\n", "a\fc\n"),
    ],
)
def test_diffs_can_be_applied(before, after):
    """Numbers and marks of the hunks are right: applying them to the old text gives the new one."""
    old = re.split(r"\r\n|\r|\n", before)
    out, at = [], 0
    for old_start, new_start, lines in diff(FileRow("x", MIGRATED, (), 0, before, after)):
        out += old[at : old_start - 1]
        at = old_start - 1
        assert len(out) + 1 == new_start
        for line in lines:
            if line[0] != "+":
                assert old[at] == line[1:]
                at += 1
            if line[0] != "-":
                out.append(line[1:])
    assert out + old[at:] == re.split(r"\r\n|\r|\n", after)


@settings(deadline=None, suppress_health_check=list(HealthCheck))  # a busy machine is no fault
@given(st.lists(st.sampled_from("abcdefgh")), st.lists(st.sampled_from("abcdefgh")))
def test_opcodes_cover_both_texts(before, after):
    a = c = 0
    for tag, i, j, k, m in opcodes(before, after):
        assert (i, k) == (a, c) and (tag != "equal" or before[i:j] == after[k:m])
        assert not (tag == "insert" and i != j) and not (tag == "delete" and k != m)
        a, c = j, m
    assert (a, c) == (len(before), len(after))


def test_lines_with_sites_are_shown_though_unchanged():
    lines = [line for hunk in diff(reports.report().files[0]) for line in hunk[2]]
    assert " l.to_gpu()" in lines


def test_large_projects_stay_small():
    text = render(reports.large(1000, 120), Extras())
    assert len(text.encode()) < 10_000_000
    huge = render(reports.large(60, 4000), Extras())
    assert len(huge.encode()) < 10_000_000 and '"diff":null' in huge, "what has no room is left out, and said so"


# -- in a browser --------------------------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome on the PATH")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
)

RUN = """<script>addEventListener("load", () => {
  const out = document.createElement("pre");
  out.id = "result";
  try { out.textContent = JSON.stringify((() => {SCRIPT})()); } catch (e) { out.textContent = JSON.stringify(e.stack); }
  document.body.append(out);
});</script></body>"""


def in_browser(tmp_path, text, script, fragment="", width=1200):
    """What ``script`` (JavaScript, an expression) gives in the page, after all of the page's own scripts."""
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", RUN.replace("SCRIPT", script)))
    done = subprocess.run(
        [
            BROWSER,
            *FLAGS,
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--dump-dom",
            path.as_uri() + fragment,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


HELP = """
const text = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
const shown = (table) => [...document.querySelectorAll('#' + table + ' > tbody > tr')].filter((r) => !r.hidden)
  .map((r) => r.cells[0].textContent);
const click = (selector) => document.querySelector(selector).click();
const type = (id, value) => { const e = document.getElementById(id); e.value = value;
  e.dispatchEvent(new Event('input', {bubbles: true})); };
"""


@pytest.mark.browser
@browser
def test_a_file_opens_with_its_diff_and_sites(tmp_path):
    found = in_browser(
        tmp_path,
        page(checks=CHECKS),
        HELP
        + """
      const before = document.querySelectorAll('.panel').length;
      click('button.open');
      const out = {before, expanded: document.querySelector('button.open').getAttribute('aria-expanded'),
        old: text('.cell.old .code'), added: text('.cell.new .code'), all: text('.cell .code'),
        sites: text('.site'), scripts: document.querySelectorAll('.panel script').length,
        images: document.images.length, title: document.title};
      click('button.open');
      out.after = document.querySelectorAll('.panel').length;
      return out;""",
    )
    assert (found["before"], found["expanded"], found["after"]) == (0, "true", 0)
    assert found["old"] == ["import chainer.links as L", "l = L.Linear(3, 4)"]
    assert found["added"] == ["import torch.nn as nn", "l = nn.Linear(3, 4)"]
    assert f"# {reports.HOSTILE}</script>" in found["all"], "shown as it is"
    assert found["scripts"] == 0 and found["images"] == 0
    assert found["sites"][0].startswith("exact chainer.links.Linear C2T200")
    assert "look" in found["sites"][1]
    assert reports.HOSTILE in found["sites"][2] and found["sites"][2].endswith("Next: write it anew")


@pytest.mark.browser
@browser
def test_changed_lines_stand_beside_what_they_become(tmp_path):
    before = "with self.init_scope():\n    self.a = L.Linear(1, 2)\n    self.b = L.Linear(2, 3)\nx\n"
    after = "self.a = nn.Linear(1, 2)\nself.b = nn.Linear(2, 3)\ncompat.init_like_chainer(self)\nx\n"
    text = render(Report([FileRow("net.py", MIGRATED, (LINEAR,), 0, before, after)]), reports.extras())
    rows = in_browser(
        tmp_path,
        text,
        HELP
        + """
      return [...document.querySelectorAll('.line')].map(
        (row) => [...row.querySelectorAll('.code')].map((code) => code.textContent));
    """,
        "#open=0",
    )
    assert rows == [
        ["with self.init_scope():", ""],
        ["    self.a = L.Linear(1, 2)", "self.a = nn.Linear(1, 2)"],
        ["    self.b = L.Linear(2, 3)", "self.b = nn.Linear(2, 3)"],
        ["", "compat.init_like_chainer(self)"],
        ["x", "x"],
        ["", ""],
    ]


def test_long_lists_are_folded():
    check = verification.Check("net:Net", 0, 1, 0, "first diverging link: /a; out: differs; grad: differs", ())
    text = render(reports.report(), reports.extras(checks=(check,)))
    assert "<br><small>first diverging link: /a</small>" in text and "<summary><small>2 more</small></summary>" in text
    assert "<li><small>grad: differs</small></li>" in text
    site = dataclasses.replace(reports.HARD, symbol="chainer.other")
    report = reports.report(*[dataclasses.replace(site, line=line) for line in range(1, 15)])
    new = tuple((report.files[0], site) for site in report.files[0].sites[2:])
    text = render(report, reports.extras(comparison=baseline.Comparison(new, 0, 0)))
    assert text.count("<code>chainer.other</code> C2T090") == 14 and "<summary>5 more</summary>" in text


@pytest.mark.browser
@browser
def test_sorting_and_searching(tmp_path):
    found = in_browser(
        tmp_path,
        page(),
        HELP
        + """
      const files = '#file-table > thead th:nth-child(';
      const out = {folded: shown('file-table')};
      click('#all-files');
      out.start = shown('file-table');
      click(files + '1) button'); click(files + '1) button');
      out.names = shown('file-table');
      out.aria = document.querySelector(files + '1)').getAttribute('aria-sort');
      click(files + '6) button');
      out.manual = shown('file-table')[0];
      type('search-files', 'easy');
      out.path = shown('file-table');
      type('search-files', 'links LINEAR');
      out.symbol = shown('file-table');
      out.count = document.getElementById('shown-files').textContent;
      type('search-files', '');
      const state = document.getElementById('state-files');
      state.value = 'close'; state.dispatchEvent(new Event('change', {bubbles: true}));
      out.state = shown('file-table');
      type('search-symbols', 'relu');
      out.symbols = shown('symbol-table');
      return out;""",
    )
    assert found["folded"] == ["a & b/net.py", "bad.py"], "only files with something to do"
    assert found["start"] == ["a & b/net.py", "bad.py", "done.py", "easy.py"]
    assert found["names"] == found["start"][::-1] and found["aria"] == "descending"
    assert found["manual"] == "a & b/net.py" and found["path"] == ["easy.py"]
    assert found["symbol"] == ["a & b/net.py"] and found["count"] == "1 of 4"
    assert found["state"] == ["easy.py"] and found["symbols"] == ["chainer.functions.relu"]


@pytest.mark.browser
@browser
def test_a_cause_leads_to_its_places(tmp_path):
    found = in_browser(
        tmp_path,
        page(),
        HELP
        + """
      type('search-files', 'easy');
      const places = text('.causes .goto');
      click('.causes .goto');
      return {places, verdict: text('.verdict')[0], shown: shown('file-table'), sites: text('.site').length,
        focus: document.activeElement.textContent, written: text('.written')[0]};""",
    )
    assert found["places"] == ["a & b/net.py:6", "a & b/net.py:5"]
    assert found["verdict"] == "1 file has a problem. 2 places need a person, for 2 reasons."
    assert found["shown"][0] == "a & b/net.py" == found["focus"] and found["sites"] == 3
    assert found["written"].startswith("Of 3 lines that were written, 3 (100.0 %) are plain")


def test_causes_are_ranked_by_the_places_that_one_action_settles():
    rows = reports.large(3, 40).files
    other = dataclasses.replace(reports.HARD, message="another reason")
    report = Report([*rows, FileRow("x.py", MIGRATED, (other, dataclasses.replace(other, symbol="chainer.second")))])
    found = causes(report.leftovers(), reports.extras())
    assert [(len(cause.places), cause.files, cause.state) for cause in found] == [
        (6, 3, "manual"),
        (6, 3, "review"),
        (1, 1, "manual"),
        (1, 1, "manual"),
    ], "the next step of chainer.hard is not that of chainer.second"
    same = causes(report.leftovers(), Extras())
    assert [(len(cause.places), cause.symbols) for cause in same[2:]] == [(2, ["chainer.hard", "chainer.second"])]
    assert not causes([], Extras())


def test_places_of_which_nothing_is_asked_are_counted_apart():
    report = reports.report()
    quiet = {site.symbol for row in report.files for site in row.sites if site.state == "review"}
    extras = dataclasses.replace(reports.extras(), asks_nothing=lambda symbol: symbol in quiet)
    assert [(cause.state, cause.asks) for cause in causes(report.leftovers(), extras)] == [
        ("manual", True),
        ("review", False),
    ]
    text = " ".join(re.sub("<[^>]*>", "", render(report, extras)).split())
    assert (
        "1 place needs a person, for 1 reason. 1 more was not executed (most need a GPU); nothing is asked there."
        in text
    )
    assert "; not executed, nothing is asked" in text


def test_absolute_paths_are_shown_below_their_folder():
    rows = [FileRow(f"/home/me/old/{name}.py", MIGRATED, (reports.HARD,), 1, "a\n", "b\n") for name in ("a", "b/c")]
    text = render(Report(rows), Extras())
    assert text.count("/home/me/old") == 1 and ">b/c.py:6</button>" in text
    alone = render(Report(rows[:1]), Extras())
    assert alone.count("/home/me/old") == 1 and ">a.py:6</button>" in alone


@pytest.mark.browser
@browser
@pytest.mark.parametrize("width", [500, 1200])  # headless Chromium makes no narrower window
def test_nothing_is_wider_than_the_window(tmp_path, width):
    found = in_browser(
        tmp_path,
        page(checks=CHECKS),
        HELP
        + """
      const e = document.documentElement;
      return {wide: e.scrollWidth > e.clientWidth, columns: getComputedStyle(document.querySelector('.line')).display,
        focus: document.activeElement.textContent,
        reachable: [...document.querySelectorAll('button, input, select')].every((b) => b.tabIndex >= 0)};""",
        "#open=0",
        width,
    )
    assert found == {
        "wide": False,
        "columns": "block" if width == 500 else "grid",
        "focus": "a & b/net.py",
        "reachable": True,
    }


@pytest.mark.browser
@browser
def test_baseline_and_verification_are_shown(tmp_path):
    old = tmp_path / "old.json"
    old.write_text(formats.render("json", Report(), reports.extras()))
    comparison = baseline.compare(reports.report(), old)
    text = render(reports.report(), reports.extras(comparison=comparison, checks=CHECKS))
    found = in_browser(
        tmp_path,
        text,
        HELP
        + """
      return {baseline: text('#baseline'), fresh: text('.site .fresh').length, checks: text('#checks .badge'),
        dots: [...document.querySelectorAll('#checks circle')].map((c) => Number(c.getAttribute('cx')))};""",
        "#open=0",
    )
    assert found == {
        "baseline": ["2 new, 0 known, 0 gone."],
        "fresh": 2,
        "checks": ["passed", "failed"],
        "dots": [357.1, 0],
    }


@pytest.mark.browser
@browser
def test_a_thousand_files_open_at_once(tmp_path):
    text = render(reports.large(1000, 120), Extras())
    found = in_browser(
        tmp_path,
        text,
        HELP
        + """
      const ms = performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart;
      const counts = [shown('file-table').length];
      const more = document.querySelector('[data-more=file-table]');
      const label = more.textContent;
      click('#file-table th button');  // sorted backwards, the first rows are others
      counts.push(shown('file-table').length);
      dispatchEvent(new Event('beforeprint'));
      counts.push(shown('file-table').length);
      dispatchEvent(new Event('afterprint'));
      counts.push(shown('file-table').length);
      type('search-files', 'no such file');
      counts.push(shown('file-table').length, more.hidden ? 0 : 1);
      type('search-files', '');
      more.click();
      counts.push(shown('file-table').length, more.hidden ? 0 : 1);
      return {ms, label, counts};""",
    )
    assert 0 < found["ms"] < 20_000  # that it opens at all; under 2 s on a machine with nothing else to do
    assert found["label"] == "Show the other 500"
    assert found["counts"] == [500, 500, 1000, 500, 0, 0, 1000, 0]


def test_errors_by_layer_are_plotted():
    text = render(reports.report(), reports.extras(checks=CHECKS))
    plot = re.search(r'<svg class="layers".*?</svg>', text, re.DOTALL)[0]
    heights = [float(height) for height in re.findall(r'<rect [^>]*height="([\d.]+)"', plot)]
    assert len(heights) == 2 and heights[0] < heights[1] == 200  # what is off the scale is as high as the plot
    assert "<title>/conv: 1.0e-07</title>" in plot and reports.HOSTILE not in plot


def test_where_a_port_stands_and_what_is_next():
    steps = tuple(
        Step(f"out/{n}.py:{n}", f"do {n} {reports.HOSTILE}", "chainer2torch explain C2T090") for n in range(5)
    )
    text = render(reports.report(), dataclasses.replace(reports.extras(), facts=(("left", "9 comments"),), steps=steps))
    assert "<dt>left</dt><dd>9 comments</dd>" in text and "<summary>2 more</summary>" in text
    assert text.count('class="done" data-key="out/') == 5 and reports.HOSTILE not in text
    assert text.index("Where it stands") < text.index("Next, in this order") < text.index("Verdict")
    assert "Where it stands" not in render(reports.report(), reports.extras())


def test_places_have_boxes_and_files_say_that_they_were_python_2():
    report = reports.report()
    report.files[0] = dataclasses.replace(report.files[0], python2=True)
    text = render(report, reports.extras())
    places = sum(site.open for site in report.sites)
    assert text.count('<input type="checkbox" class="done"') == places == 2
    assert text.count("was Python 2") == 1


@browser
@pytest.mark.browser
def test_marks_are_kept_and_counted(tmp_path):
    script = """(() => {
      const box = document.querySelector(".causes input.done");
      box.click();
      const kept = JSON.parse(localStorage.getItem("chainer2torch " + location.pathname));
      const marked = [kept.length === 1 && kept[0] === box.dataset.key, document.getElementById("marked").textContent];
      const struck = document.querySelectorAll(".causes > .all-done").length;
      document.getElementById("unmark").click();
      return [...marked, struck, document.querySelectorAll("input.done:checked").length];
    })()"""
    assert in_browser(tmp_path, page(), f"return {script}") == [True, "1 of 2 places marked as done.", 1, 0]


@browser
@pytest.mark.browser
def test_places_without_a_box_count_too(tmp_path):
    site = dataclasses.replace(reports.HARD, symbol="chainer.other")
    report = reports.report(*[dataclasses.replace(site, line=line) for line in range(1, 251)])
    text = render(report, reports.extras())
    said = in_browser(tmp_path, text, 'return document.getElementById("marked").textContent')
    assert said == "0 of 252 places marked as done (202 of them are listed with a box)."
