// What every page has: keys, menus, folds that open for links into them, buttons that copy.
// "/" goes to the search, "?" shows the keys, j and k go from row to row. Single keys can be switched
// off (WCAG 2.2, 2.1.4), and never act in a field. What scrolls can be reached by keyboard (2.1.1).
(function () {
  "use strict";

  const all = (selector) => document.querySelectorAll(selector);
  const OFF = "fsbench-keys-off";
  const dialog = document.getElementById("keys");
  const choice = document.querySelector("[data-keys-choice]");

  // A menu closes where somebody goes on: beside it, in it, or with Escape, which leads back to its name.
  const openMenu = () => document.querySelector("details.menu[open]");
  for (const what of ["click", "focusin"]) {
    document.addEventListener(what, (event) => {
      const menu = openMenu();
      if (menu && !(menu.contains(event.target) && (what === "focusin" || !event.target.closest("a")))) menu.open = false;
    });
  }
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && openMenu();
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  function isOff() {
    try { return localStorage.getItem(OFF) === "1"; } catch { return false; }
  }

  if (choice) {
    choice.checked = !isOff();
    choice.addEventListener("change", () => {
      try {
        localStorage[choice.checked ? "removeItem" : "setItem"](OFF, "1");
      } catch { /* storage may be forbidden: the keys stay on */ }
    });
  }
  for (const button of all("[data-keys-open]")) {
    button.hidden = !dialog;
    button.addEventListener("click", () => dialog.showModal());
  }

  // To the link of the next row of a list.
  function step(by) {
    const rows = [...all("table.runs tbody tr, .found > li")];
    const links = rows.map((row) => row.querySelector("th a") || row.querySelector("a")).filter(Boolean);
    if (!links.length) return false;
    const now = document.activeElement?.closest("tr, .found > li");
    const place = now ? links.findIndex((link) => now.contains(link)) : -1;
    const next = place < 0 ? (by > 0 ? 0 : links.length - 1) : place + by;
    links[next]?.focus();
    return true;
  }

  function search() {
    const field = document.getElementById("site-search");
    field?.select();
    return Boolean(field);
  }

  // What a key does; whether it did.
  const DOES = { "/": search, "?": () => dialog && !dialog.showModal(), j: () => step(1), k: () => step(-1) };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
    if (dialog && dialog.open) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (DOES[event.key]?.()) event.preventDefault();
  });

  // A region that scrolls and holds nothing to focus: into the order of the Tab key, with a name.
  const SCROLLS = ".table-wrap, pre, .with-toc .toc, .differ-scroll, .part-choices";

  function nameOf(element) {
    const section = element.closest("section, .card, main");
    const heading = element.querySelector("caption") || section?.querySelector("h1, h2, h3, summary");
    return (heading?.textContent ?? "Table").replace(/\s+/g, " ").trim().slice(0, 120);
  }

  function reach(element) {
    const scrolls = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
    if (scrolls && !element.hasAttribute("tabindex")) {
      element.tabIndex = 0;
      if (!element.matches("nav, aside, [role]")) {
        element.setAttribute("role", "group");
        if (!element.matches("[aria-label], [aria-labelledby]")) element.setAttribute("aria-label", nameOf(element));
      }
      element.dataset.reached = "";
    } else if (!scrolls && "reached" in element.dataset) {
      element.removeAttribute("tabindex");
      delete element.dataset.reached;
    }
  }

  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const region = target.closest(SCROLLS);
      if (region) reach(region);
    }
  });
  const known = new WeakSet();

  function watch() {
    for (const element of all(SCROLLS)) {
      if (known.has(element)) continue;
      known.add(element);
      sizes.observe(element);
      if (element.firstElementChild) sizes.observe(element.firstElementChild);
      reach(element);
    }
  }

  // A link into a fold opens it. Newer browsers do so by themselves.
  function named() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return ""; // #%E0%A4%A names no element
    }
  }
  /** Open the folds around an element and itself; whether any was closed. */
  function openTo(element) {
    let wasClosed = false;
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      wasClosed = wasClosed || !fold.open;
      fold.open = true;
    }
    return wasClosed;
  }
  function show() {
    const target = document.getElementById(named());
    if (target && openTo(target)) target.scrollIntoView();
  }
  window.fsbenchFolds = { named, openTo };
  addEventListener("hashchange", show);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link && link.hash === location.hash) show(); // the address stays, so that nothing else tells
  });
  // On paper nothing is folded.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...all("details.fold:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
  show();

  // Plain HTTP from another host has no clipboard: what is selected can be copied.
  for (const button of all("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", () => {
      const source = document.getElementById(button.dataset.copy);
      source.select?.();
      navigator.clipboard.writeText(source.value ?? source.textContent).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Press Ctrl+C"; }
      );
    });
  }

  watch();
  new MutationObserver(watch).observe(document.body, { childList: true, subtree: true });
})();
