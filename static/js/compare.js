// The compare page and permalinks: copy an address; say so when a chart or a change cannot be had.
// The form works without this file: its button sends it. htmx sends it on every change.
(function () {
  "use strict";

  // On a narrow screen the form stands above the tables: closed, it leaves them in sight.
  if (matchMedia("(max-width: 70rem)").matches) {
    for (const details of document.querySelectorAll("[data-close-when-narrow]")) details.open = false;
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue; // Plain HTTP from another host: the field can be selected.
    button.hidden = false;
    button.addEventListener("click", function () {
      const source = document.getElementById(button.dataset.copy);
      source.select();
      navigator.clipboard.writeText(source.value).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Press Ctrl+C"; }
      );
    });
  }

  function failed(event) {
    const element = event.target;
    const waits = element.querySelector && element.querySelector("[data-chart-waits]");
    if (waits) {
      waits.textContent = "The chart could not be fetched. Reload the page to try again; all its numbers are in the tables.";
    } else if (element.id === "filters") {
      element.submit(); // Without htmx the browser shows whatever the server has to say.
    }
  }
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:sendError", failed);

  // The words beside a group's title count its ticks.
  document.addEventListener("change", function (event) {
    const group = event.target.closest && event.target.closest("#filters [data-counted]");
    if (!group) return;
    const boxes = group.querySelectorAll("input[type=checkbox]");
    const ticked = group.querySelectorAll("input[type=checkbox]:checked").length;
    const count = group.querySelector("summary .small");
    const total = count.textContent.match(/[0-9]+$/)[0];
    count.textContent = ticked ? ticked + " of " + total : "all " + total;
  });
})();

// Delta tables: a click on a heading sorts all of them by that column, here and in the address.
(function () {
  "use strict";

  const FIRST = { contender: "contender", score: "-score", delta: "best", change: "-change", cells: "-cells", runs: "-runs" };
  const SECOND = { contender: "-contender", score: "score", delta: "", change: "change", cells: "cells", runs: "runs" };

  function column(sort) {
    return sort === "" || sort === "best" ? "delta" : sort.replace("-", "");
  }

  // Of "delta" the rows go by how far behind the best they are, else by the number shown.
  function direction(sort) {
    if (sort === "best") return "ascending";
    return sort === "" || sort.startsWith("-") ? "descending" : "ascending";
  }

  function value(row, table, name) {
    if (name === "contender") return row.querySelector("th").textContent.trim();
    if (name === "delta") {
      const score = Number(row.dataset.score);
      return table.dataset.lower ? score : -score;
    }
    return name in row.dataset ? Number(row.dataset[name]) : null;
  }

  function sortTable(table, sort) {
    const name = column(sort);
    const sign = direction(sort) === "ascending" ? 1 : -1;
    const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: value(row, table, name) }));
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null); // missing last
      return sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
    });
    table.tBodies[0].append(...rows.map((entry) => entry.row));
  }

  function mark(table, sort) {
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      if (heading.dataset.sort === column(sort)) heading.setAttribute("aria-sort", direction(sort));
      else heading.removeAttribute("aria-sort");
    }
  }

  function shown() {
    return new URLSearchParams(location.search).get("sort") || "";
  }

  function tables() {
    return document.querySelectorAll("table.deltas:has(th[data-sort])");
  }

  function choose(sort) {
    for (const table of tables()) {
      if (!table.querySelector('th[data-sort="' + column(sort) + '"]')) continue;
      sortTable(table, sort);
      mark(table, sort);
    }
    const field = document.getElementById("sort");
    if (!field) return; // A permalink: its address says nothing but its key.
    field.value = sort;
    const address = new URL(location.href);
    if (sort) address.searchParams.set("sort", sort);
    else address.searchParams.delete("sort");
    history.replaceState(history.state, "", address);
  }

  // Without scripts a heading is only a heading.
  function prepare() {
    for (const table of tables()) {
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
          choose(now && direction(FIRST[name]) === now ? SECOND[name] : FIRST[name]);
        });
      }
      mark(table, shown());
    }
  }

  // A word typed into the field above the tables leaves the tests that have it.
  function narrow(field) {
    const wanted = field.value.trim().toLowerCase();
    let left = 0;
    for (const section of document.querySelectorAll("section[data-test]")) {
      const has = section.dataset.test.toLowerCase().includes(wanted);
      section.hidden = !has;
      const link = document.querySelector('nav[data-tests] a[href="#' + section.getAttribute("aria-labelledby") + '"]');
      if (link) link.hidden = !has;
      left += has;
    }
    // What is found in a fold is shown; a fold with nothing found is not.
    for (const fold of document.querySelectorAll("details.fold:has(section[data-test])")) {
      fold.hidden = !fold.querySelector("section[data-test]:not([hidden])");
      if (!("wasOpen" in fold.dataset)) fold.dataset.wasOpen = fold.open ? "1" : "";
      fold.open = wanted ? true : fold.dataset.wasOpen === "1";
      if (!wanted) delete fold.dataset.wasOpen;
    }
    const chips = document.querySelector("nav[data-tests] > details");
    if (chips) chips.hidden = !chips.querySelector("a:not([hidden])");
    const words = document.querySelector("[data-narrowed]");
    words.textContent = wanted ? left + (left === 1 ? " test" : " tests") + " shown" : "";
  }
  document.addEventListener("input", function (event) {
    if (event.target.matches && event.target.matches("[data-narrow-tests]")) narrow(event.target);
  });

  function ready() {
    prepare();
    const field = document.querySelector("[data-narrow-tests]");
    if (field) field.closest("[hidden]")?.removeAttribute("hidden");
  }
  ready();
  document.addEventListener("htmx:afterSettle", ready);
})();
