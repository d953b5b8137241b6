// Rows of tests: their tables and charts are fetched when they are opened, from the address that the
// link in them has. All of them at once where somebody needs them: on paper, to search the page, to copy.
// A link to a test (#test-write, #write-maximum) opens its row, or leads to the tab that has it.
(function () {
  "use strict";

  const asked = new WeakSet();

  const news = () => document.dispatchEvent(new Event("live:put"));
  const hears = (nodes) => nodes.forEach((one) => { if (window.htmx && one.nodeType === 1) window.htmx.process(one); });

  async function fill(part) {
    if (asked.has(part)) return;
    asked.add(part);
    const link = part.querySelector("a");
    try {
      const answer = await fetch(link.href, { headers: { "HX-Request": "true" } });
      if (!answer.ok) throw new Error(answer.status);
      const html = await answer.text();
      if (!part.isConnected) return;
      const place = document.createElement("div");
      place.innerHTML = html;
      const nodes = Array.from(place.childNodes);
      part.replaceWith(...nodes);
      hears(nodes);
      news();
    } catch (error) {
      asked.delete(part);
      say(part, link, error);
    }
  }

  // What went wrong, with a way to try again; the link leads to the same as a page.
  function say(part, link, error) {
    const again = document.createElement("button");
    again.type = "button";
    again.className = "btn is-small";
    again.textContent = "Try again";
    again.addEventListener("click", () => fill(part));
    const words = document.createElement("span");
    words.setAttribute("role", "alert");
    words.textContent = Number(error.message) ? "The server answered " + error.message + ". " : "The server could not be reached. ";
    seer.unobserve(part); // it is tried again when somebody wants it
    part.replaceChildren(words, again, " ", link);
  }

  const parts = (root, kind) => root.querySelectorAll(kind ? "[data-fetch=" + kind + "]" : "[data-fetch]");

  // What is in a closed row is not seen.
  const seer = new IntersectionObserver(
    (entries) => { for (const entry of entries) if (entry.isIntersecting) fill(entry.target); },
    { rootMargin: "300px" }
  );
  function look() {
    for (const part of parts(document)) seer.observe(part);
  }
  for (const name of ["htmx:afterSettle", "live:put"]) document.addEventListener(name, look);

  // ---- what is open stays open when other rows or columns of tables are asked for
  const opened = () => Array.from(document.querySelectorAll("details[data-slugs][open]"), (row) => row.dataset.slugs);
  function reopen(slugs) {
    for (const row of document.querySelectorAll("details[data-slugs]")) {
      if (!slugs.includes(row.dataset.slugs)) continue;
      for (let fold = row; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    }
  }
  let before = [];
  const isOfTests = (event) => event.target.matches && event.target.matches("#comparison, #content");
  document.addEventListener("htmx:beforeSwap", (event) => { if (isOfTests(event)) before = opened(); });
  document.addEventListener("htmx:afterSettle", (event) => { if (isOfTests(event)) reopen(before); });

  // ---- all tables at once, from one address
  function put(html) {
    const found = new DOMParser().parseFromString(html, "text/html");
    for (const one of found.querySelectorAll("[data-slugs]")) {
      const row = document.querySelector('details[data-slugs="' + CSS.escape(one.dataset.slugs) + '"]');
      const part = row && parts(row, "tables")[0];
      if (!part) continue;
      part.replaceWith(one);
      hears([one]);
    }
    news();
  }
  function wanted() {
    const list = document.querySelector("[data-tables-at]:has([data-fetch=tables])");
    return list && list.dataset.tablesAt;
  }
  async function all() {
    const url = wanted();
    if (!url) return;
    const answer = await fetch(url, { headers: { "HX-Request": "true" } });
    if (!answer.ok) throw new Error(answer.status);
    put(await answer.text());
  }
  document.addEventListener("rows:wanted", (event) => { event.detail.ready = all(); });
  document.addEventListener("keydown", (event) => {
    // Without an answer the search finds what is here, and each row says what is missing.
    if (event.key === "F3" || (event.key.toLowerCase() === "f" && (event.ctrlKey || event.metaKey))) all().catch(() => {});
  });
  // Paper waits for nothing: here alone the page waits for an answer.
  addEventListener("beforeprint", function () {
    const url = wanted();
    if (!url) return;
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.setRequestHeader("HX-Request", "true");
    try {
      request.send();
    } catch {
      return; // the links to the tables are printed in their place
    }
    if (request.status === 200) put(request.responseText);
  });

  // ---- links to tests
  // The element that the address leads to; what is no such name (#%E0%A4%A) leads nowhere.
  function named() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  }
  const begins = (slug, id) => id === slug || id === "test-" + slug || id.startsWith(slug + "-");
  async function arrive() {
    const id = named();
    if (!id || document.getElementById(id)) return;
    let row = null;
    let longest = "";
    for (const each of document.querySelectorAll("details[data-slugs]")) {
      for (const slug of each.dataset.slugs.split(" ")) {
        if (begins(slug, id) && slug.length > longest.length) [row, longest] = [each, slug];
      }
    }
    if (row) {
      for (let fold = row; fold; fold = fold.parentElement.closest("details")) fold.open = true;
      await Promise.all(Array.from(parts(row, "tables"), fill));
      (document.getElementById(id) || row).scrollIntoView();
      return;
    }
    const tabs = document.querySelector("[data-tests-at]");
    const isOfTest = tabs && (id.startsWith("test-") || tabs.dataset.ends.split(" ").some((end) => end && id.endsWith("-" + end)));
    if (isOfTest) location.replace(tabs.dataset.testsAt + location.hash);
  }
  addEventListener("hashchange", arrive);
  look();
  arrive();
})();
