// The reader's choice of light or dark. Loaded in <head> without defer, so that no page flashes.
(() => {
  "use strict";
  const key = "fsbench-theme";
  const root = document.documentElement;
  try {
    const stored = localStorage.getItem(key);
    if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  } catch { /* storage may be forbidden; the system's preference rules then */ }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem(key, root.dataset.theme); } catch { /* as above */ }
    document.dispatchEvent(new CustomEvent("fsbench:theme"));
  });
})();
