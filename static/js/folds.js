// A link to what lies in a fold opens the fold. Newer browsers do so by themselves.
(function () {
  "use strict";

  // What is no name of an element (#%E0%A4%A) leads nowhere.
  function named() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  }
  function show() {
    const target = document.getElementById(named());
    if (!target) return;
    let wasClosed = false;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      wasClosed = wasClosed || !fold.open;
      fold.open = true;
    }
    if (wasClosed) target.scrollIntoView();
  }
  addEventListener("hashchange", show);
  document.addEventListener("click", function (event) {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) show(); // the address stays, so that nothing else tells
  });
  // On paper nothing is folded.
  let opened = [];
  addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details.fold:not([open])"));
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", function () {
    for (const fold of opened) fold.open = false;
  });
  show();
})();
