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

  const siteNote = ([, state, code, symbol, reason, next, fresh]) => {
    const note = element("div", "site " + STATES[state]);
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
      for (let k = 0; k < Math.max(removed.length, added.length); k += 1) {
        const row = element("div", "line");
        row.append(k < removed.length ? cell("old", before, removed[k]) : cell("empty", "", ""),
                   k < added.length ? cell("new", after, added[k]) : cell("empty", "", ""));
        into.append(row);
        if (k < removed.length) { notes(before); before += 1; }
        if (k < added.length) after += 1;
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
  };

  const filter = (input) => {
    const table = document.getElementById(input.dataset.table);
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const files = table.id === "file-table";
    const state = files ? document.getElementById("state-files").value : "";
    let shown = 0;
    const rows = rowsOf(table);
    for (const row of rows) {
      const text = (row.cells[0].textContent + " " + (row.dataset.symbols || "")).toLowerCase();
      const found = words.every((word) => text.includes(word)) &&
        (!state || row.cells[2 + STATES.indexOf(state)].textContent !== "0");
      row.hidden = !found;
      const next = row.nextElementSibling;
      if (next && next.classList.contains("panel")) next.hidden = !found;
      shown += found ? 1 : 0;
    }
    document.getElementById(files ? "shown-files" : "shown-symbols").textContent = shown + " of " + rows.length;
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("open")) toggle(button);
    else if (button.closest("th")) sort(button.closest("th"));
  });
  for (const input of document.querySelectorAll("input[type=search]")) {
    input.addEventListener("input", () => filter(input));
    filter(input);
  }
  document.getElementById("state-files").addEventListener(
    "change", () => filter(document.getElementById("search-files")));

  // page.html#open=0 opens the first file
  const wanted = /^#open=(\d+)$/.exec(location.hash);
  const first = wanted && document.querySelector('button.open[data-file="' + wanted[1] + '"]');
  if (first) { toggle(first); first.focus(); }
})();
