// Delta tables: sorting by any column, hiding rows, pinned columns, and copying as text.
// The address keeps all of it, and the server makes the same of it: without this file the button of
// the form above the tables does what is done here at once.
(function () {
  "use strict";

  const FIRST = { contender: "contender", score: "-score", delta: "best", change: "-change", cells: "-cells", runs: "-runs" };
  const collator = new Intl.Collator("en", { numeric: true });
  const tables = () => document.querySelectorAll("table.deltas:has(th[data-sort])");
  const tools = () => document.querySelector("[data-table-tools]");
  const shownSort = () => new URLSearchParams(location.search).get("sort") || "";
  const number = (text) => {
    const found = text.replace(/[,\s]/g, "").replace("\u2212", "-").match(/^[^\d-]*(-?[\d.]+(e[+-]?\d+)?)/i);
    return found ? Number(found[1]) : null;
  };

  // ---- sorting
  const column = (sort) => (sort === "" || sort === "best" ? "delta" : sort.replace("-", ""));
  // Of "delta" the rows go by how far behind the best they are, else by the number shown.
  function direction(sort) {
    if (sort === "best") return "ascending";
    return sort === "" || sort.startsWith("-") ? "descending" : "ascending";
  }
  const first = (name) => FIRST[name] || name;
  function second(name) {
    if (name === "delta") return "";
    return first(name).startsWith("-") ? name : "-" + name;
  }

  // What stands in a cell itself: not what is below it, and not what opens.
  function text(cell) {
    const copy = cell.cloneNode(true);
    for (const part of copy.querySelectorAll(".why, .sub, .flag, .badge")) part.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  const score = (row) => (row.dataset.score ? Number(row.dataset.score) : number(text(row.cells[1])));

  function value(row, table, name, at, isNumber) {
    if (name === "delta") return table.dataset.lower ? score(row) : -score(row);
    if (name === "score") return score(row);
    if (name === "change") return row.dataset.change ? Number(row.dataset.change) : null;
    const shown = text(row.cells[at]);
    if (shown === "–" || shown === "") return null;
    return isNumber ? number(shown) : shown;
  }

  function sortTable(table, heading, sort) {
    const name = column(sort);
    const sign = direction(sort) === "ascending" ? 1 : -1;
    const isNumber = heading.classList.contains("num");
    const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: value(row, table, name, heading.cellIndex, isNumber) }));
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null); // missing last
      return sign * (typeof a.key === "string" ? collator.compare(a.key, b.key) : a.key - b.key);
    });
    table.tBodies[0].append(...rows.map((entry) => entry.row));
  }

  function mark(table, sort) {
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      if (heading.dataset.sort === column(sort)) heading.setAttribute("aria-sort", direction(sort));
      else heading.removeAttribute("aria-sort");
    }
  }

  function address(change) {
    const now = new URL(location.href);
    change(now.searchParams);
    history.replaceState(history.state, "", now);
  }

  function sortBy(sort) {
    for (const table of tables()) {
      const heading = table.querySelector('th[data-sort="' + column(sort) + '"]');
      if (!heading) continue;
      sortTable(table, heading, sort);
      mark(table, sort);
    }
    const field = document.getElementById("sort");
    if (field) field.value = sort;
    address((query) => (sort ? query.set("sort", sort) : query.delete("sort")));
  }

  // ---- which rows are shown, as compare/tables/row_filter.py has it
  const LETTERS = { d: "different", e: "equivalent", i: "inconclusive", "": "unknown" };

  function wish() {
    const fields = Array.from(tools().querySelectorAll("input"));
    const least = fields.find((field) => field.name === "least");
    return {
      important: fields.some((field) => field.name === "important" && field.checked),
      verdicts: fields.filter((field) => field.name === "verdict" && field.checked).map((field) => field.value),
      least: least.validity.valid ? Number(least.value) : 0,
    };
  }

  const isReference = (row) => row.dataset.v === "r" || (!row.dataset.score && row.classList.contains("is-best"));

  function distance(row, table, best) {
    if (table.classList.contains("has-change")) return row.dataset.change ? Math.abs(Number(row.dataset.change)) : null;
    const behind = table.dataset.lower ? 1 - best / score(row) : (best - score(row)) / best;
    return Number.isFinite(behind) ? 100 * behind : null;
  }

  function isShown(row, table, best, wanted) {
    const verdict = LETTERS[row.dataset.v || ""];
    if (wanted.verdicts.length && !wanted.verdicts.includes(verdict)) return false;
    const apart = distance(row, table, best);
    if (wanted.least && (apart === null || apart < wanted.least)) return false;
    return !wanted.important || (verdict === "different" && apart !== null && apart >= (wanted.least || Number(table.dataset.worth || 2)));
  }

  function filter() {
    const wanted = wish();
    const isFiltered = wanted.important || wanted.verdicts.length || wanted.least;
    let all = 0;
    let hidden = 0;
    for (const table of tables()) {
      const rows = Array.from(table.tBodies[0].rows);
      const best = score(rows.find(isReference) || rows[0]);
      const others = rows.filter((row) => !isReference(row));
      const shown = new Set(others.filter((row) => !isFiltered || isShown(row, table, best, wanted)));
      for (const row of rows) {
        row.hidden = Boolean(isFiltered) && (isReference(row) ? !shown.size : !shown.has(row));
        hidden += row.hidden;
      }
      all += rows.length;
      table.closest(".table-wrap").hidden = Boolean(isFiltered) && !shown.size;
    }
    for (const test of document.querySelectorAll("details[data-words]")) {
      const wraps = Array.from(test.querySelectorAll(".table-wrap"));
      test.toggleAttribute("data-left-out", wraps.length > 0 && wraps.every((one) => one.hidden));
      test.hidden = test.hasAttribute("data-left-out");
    }
    const count = document.querySelector("[data-table-count]");
    count.textContent = hidden ? hidden + " of " + all + (all === 1 ? " row" : " rows") + (hidden === 1 ? " is" : " are") + " not shown." : "";
    address(function (query) {
      for (const name of ["important", "least", "verdict"]) query.delete(name);
      if (wanted.important) query.set("important", "1");
      if (wanted.least) query.set("least", wanted.least);
      for (const one of wanted.verdicts) query.append("verdict", one);
    });
  }

  // ---- columns that stay in sight: the contender, and those that are pinned behind it
  function pin(table) {
    let left = 0;
    const heads = Array.from(table.tHead.rows[0].cells);
    if (!heads.some((head) => head.classList.contains("pin"))) return;
    for (const head of heads) {
      if (head.cellIndex && !head.classList.contains("pin")) break;
      for (const row of table.rows) row.cells[head.cellIndex].style.left = left + "px";
      left += head.offsetWidth;
    }
  }

  // ---- copying: tabs between cells, so that a sheet or a mail takes it. Intervals and verdicts, which
  // stand below numbers, get columns of their own.
  function asText(table) {
    const caption = table.caption.cloneNode(true);
    for (const part of caption.querySelectorAll("a, button")) part.remove();
    const below = (cell) => cell.querySelector(".why > summary");
    const rows = Array.from(table.rows).filter((row) => !row.hidden);
    const split = Array.from(rows[0].cells, (_, at) => rows.some((row) => below(row.cells[at])));
    const cells = (row) => Array.from(row.cells).flatMap(function (cell, at) {
      const isHead = cell.scope === "col";
      const isNumber = rows[0].cells[at].classList.contains("num") && !isHead;
      const shown = isNumber ? text(cell).replace(/,(?=\d{3})/g, "").replace("\u2212", "-") : text(cell);
      if (!split[at]) return [shown];
      const more = isHead ? (cell.dataset.sort === "score" ? "95% interval" : "verdict") : below(cell) ? below(cell).textContent.trim() : "";
      return [shown, more];
    });
    const lines = [[caption.textContent.replace(/\s+/g, " ").trim()], ...rows.map(cells)];
    return lines.map((line) => line.join("\t") + "\n").join("");
  }

  // Plain HTTP from another host has no clipboard of its own: what is selected can be copied.
  function copy(what) {
    if (navigator.clipboard) return navigator.clipboard.writeText(what);
    const field = document.createElement("textarea");
    field.value = what;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("not allowed"));
  }

  // Tables that come when they are opened (rows.js) are fetched first.
  function whole() {
    const wanted = new CustomEvent("rows:wanted", { detail: {} });
    document.dispatchEvent(wanted);
    return wanted.detail.ready || Promise.resolve();
  }

  function copies(button, what, whole = () => Promise.resolve()) {
    const words = button.textContent;
    button.addEventListener("click", function () {
      whole()
        .then(() => copy(what()).then(() => "Copied", () => "The browser refused"), () => "The tables could not be fetched")
        .then((said) => { button.textContent = said; })
        .then(() => setTimeout(() => { button.textContent = words; }, 2000));
    });
  }

  // ---- making the page ready
  function headings(table) {
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      if (heading.querySelector("button")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", function () {
        const name = heading.dataset.sort;
        const now = heading.getAttribute("aria-sort");
        sortBy(now && direction(first(name)) === now ? second(name) : first(name));
      });
    }
    if (table.caption && !table.caption.querySelector("[data-copy-table]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "as-link no-print";
      button.dataset.copyTable = "";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy " + (table.caption.firstChild.textContent || "").trim());
      table.caption.append(" ", button);
      copies(button, () => asText(table));
    }
    mark(table, shownSort());
    pin(table);
  }

  // Rows are hidden here; other columns and digits are the server's.
  function chosen(event) {
    const field = event.target;
    const box = field.closest && field.closest("[data-table-tools]");
    if (!box) return;
    // Of tables that are not here the server counts the rows.
    const isHere = !document.querySelector("[data-fetch=tables]");
    if (isHere && ["important", "verdict", "least"].includes(field.name)) filter();
    else if (field.name === "sort") sortBy(field.value);
    else if (box.dataset.tableTools === "filters" && window.htmx) document.getElementById("filters").dispatchEvent(new Event("change"));
    else document.getElementById(box.dataset.tableTools).requestSubmit();
  }
  document.addEventListener("change", chosen);

  // What is shared is what is seen: rows may have been sorted and hidden here since the page came.
  document.addEventListener("submit", function (event) {
    const view = event.target.id === "share" && event.target.elements.view;
    if (view) view.value = location.search.slice(1);
  });

  function ready() {
    tables().forEach(headings);
    const box = tools();
    if (!box || box.dataset.ready) return;
    box.dataset.ready = "yes";
    box.querySelector("[data-table-apply]").hidden = true;
    const all = box.querySelector("[data-copy-tables]");
    all.hidden = false;
    copies(all, () => Array.from(tables()).filter((table) => !table.closest("[hidden]")).map(asText).join("\n"), whole);
  }
  ready();
  document.addEventListener("htmx:afterSettle", ready);
  document.addEventListener("live:put", ready);
})();
