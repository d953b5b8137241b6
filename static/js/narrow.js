// A long list of tests: only those that have all the words typed into the field above them, in any
// order. How many they are is said; of none, how to have them all again.
(function () {
  "use strict";

  const TESTS = "details[data-words]";
  const FOLDS = "details.fold:not([data-words], :has([data-narrow-tests])):has(details[data-words])";

  // A number is a whole one: 4k is not in 64k.
  function has(words, one) {
    const isNumber = /\d/.test(one[0]);
    for (let at = words.indexOf(one); at >= 0; at = words.indexOf(one, at + 1)) {
      if (!isNumber || !/[\d.]/.test(words[at - 1] || "")) return true;
    }
    return false;
  }

  function narrow(field) {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    let all = 0;
    for (const one of document.querySelectorAll(TESTS)) {
      const words = one.dataset.words.toLowerCase();
      const isFound = wanted.every((word) => has(words, word));
      const isLeftOut = "leftOut" in one.dataset; // by the choice of rows of tables, which says so itself
      one.hidden = !isFound || isLeftOut;
      left += isFound && !isLeftOut;
      all += !isLeftOut;
    }
    // What is found in a fold is shown; a fold with nothing found is not.
    for (const fold of document.querySelectorAll(FOLDS)) {
      fold.hidden = !Array.from(fold.querySelectorAll(TESTS)).some((one) => !one.hidden);
      if (!("wasOpen" in fold.dataset)) fold.dataset.wasOpen = fold.open ? "1" : "";
      fold.open = wanted.length ? true : fold.dataset.wasOpen === "1";
      if (!wanted.length) delete fold.dataset.wasOpen;
    }
    for (const head of document.querySelectorAll(".test-line.is-head")) head.hidden = !left;
    say(field, wanted, left, all);
  }

  function say(field, wanted, left, all) {
    const place = document.querySelector("[data-narrowed]");
    if (!wanted.length) return place.replaceChildren();
    if (left) return place.replaceChildren(left + " of " + all + (all === 1 ? " test" : " tests") + " shown");
    const back = document.createElement("button");
    back.type = "button";
    back.className = "btn is-small";
    back.textContent = "Show all " + all;
    back.addEventListener("click", function () {
      field.value = "";
      narrow(field);
      field.focus();
    });
    place.replaceChildren("No test has " + (wanted.length > 1 ? "all of these words. " : "this word. "), back);
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
