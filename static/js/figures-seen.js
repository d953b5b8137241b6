// Fetches figures.js when the first figure comes near the screen: most pages are read without one.
(function () {
  "use strict";

  const { draws, plotly } = document.currentScript.dataset;
  const NEWS = ["htmx:afterSettle", "live:put"];
  const seer = new IntersectionObserver(fetchIfSeen, { rootMargin: "300px" });
  function fetchIfSeen(entries) {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seer.disconnect();
    for (const name of NEWS) document.removeEventListener(name, look);
    const script = Object.assign(document.createElement("script"), { src: draws });
    script.dataset.plotly = plotly;
    document.head.append(script);
  }
  const look = () => document.querySelectorAll("figure[data-figure]").forEach((figure) => seer.observe(figure));
  for (const name of NEWS) document.addEventListener(name, look);
  look();
})();
