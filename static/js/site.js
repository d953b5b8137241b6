// What every page has: keys, menus, folds that open for links into them, buttons that copy.
// "/" goes to the search, "?" shows the keys, j and k go from row to row. Single keys can be switched
// off (WCAG 2.2, 2.1.4), and never act in a field. What scrolls can be reached by keyboard (2.1.1).
(function () {
  "use strict";

  const OFF = "fsbench-keys-off";
  const dialog = document.getElementById("keys");
  const choice = document.querySelector("[data-keys-choice]");

  // A menu closes where somebody goes on: beside it, in it, or with Escape, which leads back to its name.
  const openMenu = () => document.querySelector("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
    }
  });
  document.addEventListener("focusin", (event) => {
    const menu = openMenu();
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
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
        if (choice.checked) localStorage.removeItem(OFF); else localStorage.setItem(OFF, "1");
      } catch { /* storage may be forbidden: the keys stay on */ }
    });
  }
  for (const button of document.querySelectorAll("[data-keys-open]")) {
    button.hidden = !dialog;
    button.addEventListener("click", () => dialog.showModal());
  }

  // The link of each row of the lists, in the order of the page.
  function rows() {
    return [...document.querySelectorAll("table.runs tbody tr, .found > li")]
      .map((row) => row.querySelector("th a") || row.querySelector("a"))
      .filter((link) => link);
  }

  function step(by) {
    const links = rows();
    if (!links.length) return false;
    const now = document.activeElement && document.activeElement.closest("tr, .found > li");
    const place = now ? links.findIndex((link) => now.contains(link)) : -1;
    const next = place < 0 ? (by > 0 ? 0 : links.length - 1) : place + by;
    if (links[next]) links[next].focus();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
    if (dialog && dialog.open) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    let done = false;
    if (event.key === "/") {
      const field = document.getElementById("site-search");
      if (field) { field.focus(); field.select(); done = true; }
    } else if (event.key === "?" && dialog) {
      dialog.showModal();
      done = true;
    } else if (event.key === "j") {
      done = step(1);
    } else if (event.key === "k") {
      done = step(-1);
    }
    if (done) event.preventDefault();
  });

  // A region that scrolls and holds nothing to focus: into the order of the Tab key, with a name.
  const SCROLLS = ".table-wrap, pre, .with-toc .toc, .differ-scroll, .part-choices";

  function nameOf(element) {
    const caption = element.querySelector("caption");
    if (caption) return caption.textContent;
    const section = element.closest("section, .card, main");
    const heading = section && section.querySelector("h1, h2, h3, summary");
    return heading ? heading.textContent : "Table";
  }

  function reach(element) {
    const scrolls = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
    if (scrolls && !element.hasAttribute("tabindex")) {
      element.tabIndex = 0;
      if (!element.matches("nav, [role]")) {
        element.setAttribute("role", "group");
        if (!element.hasAttribute("aria-label") && !element.hasAttribute("aria-labelledby")) {
          element.setAttribute("aria-label", nameOf(element).replace(/\s+/g, " ").trim().slice(0, 120));
        }
      }
      element.dataset.reached = "";
    } else if (!scrolls && "reached" in element.dataset) {
      element.removeAttribute("tabindex");
      delete element.dataset.reached;
    }
  }

  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const region = target.matches(SCROLLS) ? target : target.closest(SCROLLS);
      if (region) reach(region);
    }
  });
  const known = new WeakSet();

  function watch() {
    for (const element of document.querySelectorAll(SCROLLS)) {
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
    opened = [...document.querySelectorAll("details.fold:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
  show();

  // Plain HTTP from another host has no clipboard: what is selected can be copied.
  for (const button of document.querySelectorAll("[data-copy]")) {
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
