// Comparisons and studies: tests whose tables are fetched when they are opened, links to tests, the
// search among tests, columns that are shown or pinned. The server sorts and filters.
(function () {
  "use strict";

  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const { named, openTo } = window.fsbenchFolds;
  function button(text, act) {
    const made = Object.assign(document.createElement("button"), { type: "button", className: "btn is-small", textContent: text });
    made.addEventListener("click", act);
    return made;
  }

  // On a narrow screen the form stands above the tables: closed, it leaves them in sight.
  if (matchMedia("(max-width: 70rem)").matches) {
    for (const details of all("[data-close-when-narrow]")) details.open = false;
  }

  function failed(event) {
    const part = event.target.closest?.("[data-fetch]");
    if (part) return refused(part, event.detail.xhr.status);
    const waits = event.target.querySelector?.("[data-chart-waits]");
    if (waits) waits.textContent = "The chart could not be fetched. Reload the page to try again; all its numbers are in the tables.";
    else if (event.target.id === "filters") event.target.submit(); // the browser shows what the server says
  }
  // The tables of a test are fetched when its row is open, and again when somebody wants it.
  const fill = (part) => window.htmx.ajax("GET", part.getAttribute("hx-get"), { source: part, target: part, swap: "outerHTML" }).catch(() => {});
  function refused(part, status) {
    const text = status ? "The server answered " + status + ". " : "The server could not be reached. ";
    const words = Object.assign(document.createElement("span"), { role: "alert", textContent: text });
    part.replaceChildren(words, button("Try again", () => fill(part)), " ", part.querySelector("a"));
  }
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:sendError", failed);

  document.addEventListener("change", function (event) {
    // The boxes above the matrix show and hide its columns.
    const column = event.target.dataset?.column;
    const matrix = column && event.target.closest(".matrix");
    if (!matrix) return;
    for (const row of all("tr:not(.is-group)", matrix)) row.children[Number(column)].hidden = !event.target.checked;
  });

  // What is open stays open when other rows or columns of tables are asked for.
  let before = [];
  const isOfTests = (event) => event.target.matches?.("#comparison, #content");
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (isOfTests(event)) before = all("details[data-slugs][open]").map((row) => row.dataset.slugs);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!isOfTests(event)) return;
    for (const row of all("details[data-slugs]")) if (before.includes(row.dataset.slugs)) openTo(row);
  });

  // A link to a test (#test-write, #write-maximum) opens its row, or leads to the tab that has it.
  const begins = (slug, id) => id === slug || id === "test-" + slug || id.startsWith(slug + "-");
  async function arrive() {
    const id = named();
    if (!id || document.getElementById(id)) return;
    let row = null;
    let longest = "";
    for (const each of all("details[data-slugs]")) {
      for (const slug of each.dataset.slugs.split(" ")) {
        if (begins(slug, id) && slug.length > longest.length) [row, longest] = [each, slug];
      }
    }
    if (row) {
      openTo(row);
      await Promise.all(all("[data-fetch]", row).map(fill));
      (document.getElementById(id) || row).scrollIntoView();
      return;
    }
    const tabs = document.querySelector("[data-tests-at]");
    const isOfTest = tabs && (id.startsWith("test-") || tabs.dataset.ends.split(" ").some((end) => end && id.endsWith("-" + end)));
    if (isOfTest) location.replace(tabs.dataset.testsAt + location.hash);
  }
  addEventListener("hashchange", arrive);

  // ---- the search among tests: all words, in any order. A number is a whole one: 4k is not in 64k.
  const FOLDS = "details.fold:not([data-words], :has([data-narrow-tests])):has(details[data-words])";
  const pattern = (word) => new RegExp((/^\d/.test(word) ? "(?<![\\d.])" : "") + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");

  function narrow(field) {
    const wanted = field.value.split(/\s+/).filter(Boolean).map(pattern);
    const tests = all("details[data-words]:not([data-left-out])"); // others are left out by the server
    for (const test of tests) test.hidden = !wanted.every((word) => word.test(test.dataset.words));
    const left = tests.filter((test) => !test.hidden).length;
    // What is found in a fold is shown; a fold with nothing found is not.
    for (const fold of all(FOLDS)) {
      fold.hidden = !fold.querySelector("details[data-words]:not([hidden])");
      fold.dataset.wasOpen ??= fold.open ? "1" : "";
      fold.open = wanted.length > 0 || fold.dataset.wasOpen === "1";
      if (!wanted.length) delete fold.dataset.wasOpen;
    }
    for (const head of all(".test-line.is-head")) head.hidden = !left;
    const place = document.querySelector("[data-narrowed]");
    if (!wanted.length) place.replaceChildren();
    else if (left) place.replaceChildren(left + " of " + tests.length + (tests.length === 1 ? " test" : " tests") + " shown");
    else place.replaceChildren("No test has " + (wanted.length > 1 ? "all of these words. " : "this word. "), showAll(field, tests.length));
  }

  function showAll(field, count) {
    return button("Show all " + count, function () {
      field.value = "";
      narrow(field);
      field.focus();
    });
  }
  document.addEventListener("input", (event) => { if (event.target.matches?.("[data-narrow-tests]")) narrow(event.target); });

  // ---- columns that stay in sight: the contender, and those that are pinned behind it
  function pin(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    if (!heads.some((head) => head.classList.contains("pin"))) return;
    let left = 0;
    for (const head of heads) {
      if (head.cellIndex && !head.classList.contains("pin")) break;
      for (const row of table.rows) row.cells[head.cellIndex].style.left = left + "px";
      left += head.offsetWidth;
    }
  }

  function ready() {
    all("table.deltas").forEach(pin);
    document.querySelector("[data-narrow-tests]")?.closest("[hidden]")?.removeAttribute("hidden");
  }
  for (const name of ["htmx:afterSettle", "live:put"]) document.addEventListener(name, ready);
  ready();
  arrive();
})();
