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
