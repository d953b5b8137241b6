// The reader's choice of light or dark. Loaded in <head> without defer, so that no page flashes.
(() => {
  "use strict";
  const key = "fsbench-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const mark = () => root.classList.toggle("dark-mode", isDark()); // Swagger UI reads this class
  try {
    const stored = localStorage.getItem(key);
    if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  } catch { /* storage may be forbidden; the system's preference rules then */ }
  mark();
  system.addEventListener("change", mark);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem(key, root.dataset.theme); } catch { /* as above */ }
    mark();
  });
})();
