"use strict";
// Everything that comes from a source file is put in as text (textContent), never as markup.
(() => {
  const STATES = ["exact", "close", "review", "manual"];
  const json = (id) => JSON.parse(document.getElementById(id).textContent);
  const strings = json("strings");
  const titles = json("codes");

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // -- a file: its diff side by side, each site under its line ------------------------------------------------------

  const cell = (kind, number, text) => {
    const made = element("div", "cell " + kind);
    made.append(element("span", "number", number || ""), element("span", "code", text));
    return made;
  };

  const siteNote = ([line, state, code, symbol, reason, next, fresh]) => {
    const note = element("div", "site " + STATES[state]);
    note.dataset.line = line;
    note.append(element("span", "badge " + STATES[state], STATES[state]), " ",
                element("code", "", strings[symbol]), " ");
    const family = element("span", "soft", code);
    family.title = titles[code] || "";
    note.append(family);
    if (fresh) note.append(element("span", "fresh", " new since the baseline"));
    if (strings[reason]) note.append(" " + strings[reason]);
    if (strings[next]) note.append(element("br"), element("strong", "", "Next: "), strings[next]);
    return note;
  };

  // Which removed line stands beside which added one: pairs in order, so that the words that they share are the most.
  const words = (line) => new Set(line.match(/\w+/g) || []);
  const likeness = (a, b) => {
    let shared = 0;
    for (const word of a) shared += b.has(word) ? 1 : 0;
    return shared / Math.max(a.size, b.size, 1);
  };
  const pairs = (removed, added) => {
    const side = removed.map((_, k) => [k, k < added.length ? k : null]);
    for (let k = removed.length; k < added.length; k += 1) side.push([null, k]);
    if (removed.length * added.length > 40000) return side;
    const [old, fresh] = [removed.map(words), added.map(words)];
    const best = Array.from({length: removed.length + 1}, () => new Float64Array(added.length + 1));
    const worth = (i, j) => { const like = likeness(old[i], fresh[j]); return like < 0.25 ? -1 : like; };
    const scores = old.map((_, i) => fresh.map((_, j) => worth(i, j)));
    for (let i = removed.length - 1; i >= 0; i -= 1) {
      for (let j = added.length - 1; j >= 0; j -= 1) {
        best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], scores[i][j] + best[i + 1][j + 1]);
      }
    }
    const out = [];
    for (let i = 0, j = 0; i < removed.length || j < added.length;) {
      if (i < removed.length && j < added.length && scores[i][j] >= 0 &&
          best[i][j] === scores[i][j] + best[i + 1][j + 1]) out.push([i++, j++]);
      else if (i < removed.length && best[i][j] === best[i + 1][j]) out.push([i++, null]);
      else out.push([null, j++]);
    }
    return out;
  };

  const drawHunk = ([oldStart, newStart, lines], sites, into) => {
    let before = oldStart;
    let after = newStart;
    const notes = (number) => {
      for (const site of sites.get(number) || []) into.append(siteNote(site));
      sites.delete(number);
    };
    for (let i = 0; i < lines.length;) {
      if (lines[i][0] === " ") {
        const row = element("div", "line same");
        row.append(cell("", before, lines[i].slice(1)), cell("", after, lines[i].slice(1)));
        into.append(row);
        notes(before);
        before += 1; after += 1; i += 1;
        continue;
      }
      const removed = [];
      const added = [];
      while (i < lines.length && lines[i][0] === "-") removed.push(lines[i++].slice(1));
      while (i < lines.length && lines[i][0] === "+") added.push(lines[i++].slice(1));
      for (const [old, fresh] of pairs(removed, added)) {
        const row = element("div", "line");
        row.append(old !== null ? cell("old", before, removed[old]) : cell("empty", "", ""),
                   fresh !== null ? cell("new", after, added[fresh]) : cell("empty", "", ""));
        into.append(row);
        if (old !== null) { notes(before); before += 1; }
        if (fresh !== null) after += 1;
      }
    }
  };

  const drawFile = (number) => {
    const data = json("file-" + number);
    const sites = new Map();
    for (const site of data.sites) sites.set(site[0], [...(sites.get(site[0]) || []), site]);
    const panel = element("div", "file");
    if (data.diff === null) {
      panel.append(element("p", "soft", "The diff is left out to keep this page small: chainer2torch migrate FILE prints it."));
    } else if (data.diff.length) {
      const diff = element("div", "diff");
      data.diff.forEach((hunk, index) => {
        if (index) diff.append(element("div", "gap", "\u22ef"));
        drawHunk(hunk, sites, diff);
      });
      panel.append(diff);
    }
    for (const [line, list] of sites) {
      for (const site of list) {
        const note = siteNote(site);
        note.prepend("line " + line + " ");
        panel.append(note);
      }
    }
    return panel;
  };

  const close = (button) => {
    button.setAttribute("aria-expanded", "false");
    const row = button.closest("tr");
    if (row.nextElementSibling && row.nextElementSibling.classList.contains("panel")) row.nextElementSibling.remove();
  };

  const toggle = (button) => {
    if (button.getAttribute("aria-expanded") === "true") { close(button); return; }
    button.setAttribute("aria-expanded", "true");
    const row = button.closest("tr");
    const panel = element("tr", "panel");
    const wide = element("td");
    wide.colSpan = row.cells.length;
    wide.append(drawFile(button.dataset.file));
    panel.append(wide);
    row.after(panel);
  };

  // Opens a file from elsewhere on the page, whatever is folded or searched for, and goes there.
  const show = (number, line) => {
    const button = document.querySelector('button.open[data-file="' + number + '"]');
    if (!button) return;
    if (button.getAttribute("aria-expanded") !== "true") toggle(button);
    const row = button.closest("tr");
    row.hidden = false;
    row.nextElementSibling.hidden = false;
    button.focus();
    const note = line && row.nextElementSibling.querySelector('.site[data-line="' + line + '"]');
    if (note) note.scrollIntoView({block: "center"});
  };

  // -- places that are done, remembered by this browser for this page ---------------------------------------------------

  const KEY = "chainer2torch " + location.pathname;
  const boxes = [...document.querySelectorAll("input.done")];
  let marks = new Set();
  try {
    marks = new Set(JSON.parse(localStorage.getItem(KEY) || "[]"));
  } catch { /* a browser that keeps nothing for local files: the marks last as long as the page */ }
  const countMarks = () => {
    const places = boxes.filter((box) => box.closest("[data-marks]"));
    const done = places.filter((box) => box.checked).length;
    const line = document.getElementById("marked");
    if (line) {
      const all = Number(line.dataset.places);
      const listed = places.length < all ? " (" + places.length + " of them are listed with a box)" : "";
      line.textContent = done + " of " + all + " places marked as done" + listed + ".";
    }
    const none = document.getElementById("unmark");
    if (none) none.hidden = !boxes.some((box) => box.checked);
    for (const cause of document.querySelectorAll(".causes > li")) {
      const own = [...cause.querySelectorAll("input.done")];
      cause.classList.toggle("all-done", own.length > 0 && own.every((box) => box.checked));
    }
  };
  const keepMarks = () => {
    try {
      localStorage.setItem(KEY, JSON.stringify([...marks]));
    } catch { /* as above */ }
    countMarks();
  };
  for (const box of boxes) box.checked = marks.has(box.dataset.key);
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.classList.contains("done")) return;
    if (box.checked) marks.add(box.dataset.key);
    else marks.delete(box.dataset.key);
    keepMarks();
  });

  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => {
    showWhole("print");
    for (const part of document.querySelectorAll("details:not([open])")) {
      part.open = true;
      part.dataset.folded = "";
    }
  });
  addEventListener("afterprint", () => {
    if (whole.delete("print")) filterAll();
    for (const part of document.querySelectorAll("details[data-folded]")) {
      part.open = false;
      delete part.dataset.folded;
    }
  });

  // -- tables: sort by a click on the heading, search ----------------------------------------------------------------

  const rowsOf = (table) => [...table.tBodies[0].rows].filter((row) => !row.classList.contains("panel"));

  const sort = (heading) => {
    const table = heading.closest("table");
    const column = heading.cellIndex;
    const numbers = heading.classList.contains("n");
    const was = heading.getAttribute("aria-sort");
    const descending = was ? was === "ascending" : numbers;
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = (row) => row.cells[column].textContent;
    const keyed = rowsOf(table).map((row) => [numbers ? Number(key(row)) : key(row), row]);
    keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (descending ? -1 : 1));
    const body = table.tBodies[0];
    for (const [, row] of keyed) {
      const next = row.nextElementSibling;
      body.append(row);
      if (next && next.classList.contains("panel")) body.append(next);
    }
    const search = document.querySelector('[data-table="' + table.id + '"]');
    if (search) filter(search);
  };

  // Thousands of rows take seconds to lay out: so many are shown, the others when somebody asks for them.
  const SHOWN = 500;
  const whole = new Set();  // the tables of which all rows are shown
  const texts = new WeakMap();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, (row.cells[0].textContent + " " + (row.dataset.symbols || "")).toLowerCase());
    return texts.get(row);
  };

  const filter = (input) => {
    const table = document.getElementById(input.dataset.table);
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const files = table.id === "file-table";
    const state = files ? document.getElementById("state-files").value : "";
    // A search looks at all files; without one, files with nothing to do are folded away unless all are wanted.
    const folded = files && !words.length && !state && !document.getElementById("all-files").checked;
    const limit = whole.has(table.id) || whole.has("print") ? Infinity : SHOWN;
    let count = 0;
    let shown = 0;
    const rows = rowsOf(table);
    const work = rows.some((row) => row.dataset.work !== "0");
    for (const row of rows) {
      const text = textOf(row);
      const next = row.nextElementSibling;
      const panel = next && next.classList.contains("panel") ? next : null;
      const found = words.every((word) => text.includes(word)) &&
        (!folded || !work || row.dataset.work !== "0" || panel) &&
        (!state || row.cells[2 + STATES.indexOf(state)].textContent !== "0");
      count += found ? 1 : 0;
      const visible = found && (shown < limit || panel);
      shown += visible ? 1 : 0;
      row.hidden = !visible;
      if (panel) panel.hidden = !visible;
    }
    document.getElementById(files ? "shown-files" : "shown-symbols").textContent = count + " of " + rows.length;
    const more = document.querySelector('button.more[data-more="' + table.id + '"]');
    more.hidden = shown === count;
    more.textContent = "Show the other " + (count - shown);
  };

  const filterAll = () => {
    for (const input of document.querySelectorAll("input[type=search]")) filter(input);
  };
  const showWhole = (name) => {
    whole.add(name);
    filterAll();
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("open")) toggle(button);
    else if (button.classList.contains("goto")) show(button.dataset.file, button.dataset.line);
    else if (button.id === "unmark") {
      marks.clear();
      for (const box of boxes) box.checked = false;
      keepMarks();
    }
    else if (button.classList.contains("more")) showWhole(button.dataset.more);
    else if (button.closest("th")) sort(button.closest("th"));
  });
  for (const input of document.querySelectorAll("input[type=search]")) input.addEventListener("input", () => filter(input));
  filterAll();
  document.getElementById("state-files").addEventListener(
    "change", () => filter(document.getElementById("search-files")));

  document.getElementById("all-files").addEventListener(
    "change", () => filter(document.getElementById("search-files")));

  countMarks();

  // page.html#open=0 opens the first file
  const wanted = /^#open=(\d+)$/.exec(location.hash);
  if (wanted) show(wanted[1]);
})();
