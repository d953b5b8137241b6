// Swagger UI is dark where its page has a class; ours has the reader's choice or the system's.
(() => {
  "use strict";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.classList.toggle("dark-mode", isDark);
  };
  show();
  system.addEventListener("change", show);
  document.addEventListener("fsbench:theme", show);
})();
