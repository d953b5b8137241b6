// Fetches figures.js when the first figure comes near the screen: most pages are read without one.
(function () {
  "use strict";

  const own = document.currentScript.dataset;
  const seer = new IntersectionObserver(
    function (entries) {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seer.disconnect();
      for (const name of ["htmx:afterSettle", "live:put"]) document.removeEventListener(name, look);
      const script = document.createElement("script");
      script.src = own.draws;
      script.dataset.plotly = own.plotly;
      document.head.append(script);
    },
    { rootMargin: "300px" }
  );
  function look() {
    for (const figure of document.querySelectorAll("figure[data-figure]")) seer.observe(figure);
  }
  look();
  document.addEventListener("htmx:afterSettle", look);
  document.addEventListener("live:put", look);
})();
