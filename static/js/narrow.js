// A long list of tests: only those that are asked for, by a word typed into the field above them.
(function () {
  "use strict";

  const TESTS = "section[data-test], details[data-words]";
  const FOLDS = "details.fold:not([data-words]):has(section[data-test], details[data-words])";

  function narrow(field) {
    const wanted = field.value.trim().toLowerCase();
    let left = 0;
    for (const one of document.querySelectorAll(TESTS)) {
      const has = (one.dataset.test || one.dataset.words).toLowerCase().includes(wanted);
      one.hidden = !has || "leftOut" in one.dataset;
      const link = document.querySelector('nav[data-tests] a[href="#' + one.getAttribute("aria-labelledby") + '"]');
      if (link) link.hidden = !has;
      left += has;
    }
    // What is found in a fold is shown; a fold with nothing found is not.
    for (const fold of document.querySelectorAll(FOLDS)) {
      fold.hidden = !Array.from(fold.querySelectorAll(TESTS)).some((one) => !one.hidden);
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
