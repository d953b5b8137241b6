// Delta tables: columns that stay in sight, and copying as text. The server sorts and filters.
(function () {
  "use strict";

  const tables = () => document.querySelectorAll("table.deltas");

  // What stands in a cell itself: not what is below it, and not what opens.
  function text(cell) {
    const copy = cell.cloneNode(true);
    for (const part of copy.querySelectorAll(".why, .sub, .flag, .badge")) part.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
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
  function prepare(table) {
    pin(table);
    if (!table.caption || table.caption.querySelector("[data-copy-table]")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "as-link no-print";
    button.dataset.copyTable = "";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy " + (table.caption.firstChild.textContent || "").trim());
    table.caption.append(" ", button);
    copies(button, () => asText(table));
  }

  function ready() {
    tables().forEach(prepare);
    const box = document.querySelector("[data-table-tools]");
    if (!box || box.dataset.ready) return;
    box.dataset.ready = "yes";
    box.querySelector("[data-table-apply]").hidden = Boolean(window.htmx);
    const all = box.querySelector("[data-copy-tables]");
    all.hidden = false;
    copies(all, () => Array.from(tables()).filter((table) => !table.closest("[hidden]")).map(asText).join("\n"), whole);
  }
  ready();
  document.addEventListener("htmx:afterSettle", ready);
  document.addEventListener("live:put", ready);
})();
