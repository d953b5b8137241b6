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

// A long comparison: only the tests that are asked for.
(function () {
  "use strict";

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
    const field = document.querySelector("[data-narrow-tests]");
    if (field) field.closest("[hidden]")?.removeAttribute("hidden");
  }
  ready();
  document.addEventListener("htmx:afterSettle", ready);
})();
