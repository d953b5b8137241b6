// <section id="runs" data-live-part data-live-every="5" data-live-state="waiting"> is fetched so often
// and replaced by id where it changed. data-live-address: another address to fetch. A changed state
// removes messages of arrival and says data-live-news to screen readers. data-live-reload: reload the
// page. data-live-part="form": compare the part with what the form holds now (runs.js).
{
  const HIDDEN_S = 60; // a tab that nobody sees asks no more often
  const TROUBLE_S = 15;
  const IDLE_MS = 2000; // nothing is replaced under the fingers of whoever types
  const FIELDS = "input, option, textarea";
  const ALIKE = /(name="csrfmiddlewaretoken" value=")[^"]*/g; // another one in every answer

  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const parts = () => all("[data-live-part][id]");
  const htmlOf = (part) => part.outerHTML.replace(ALIKE, "$1");
  const served = new Map(parts().map((part) => [part.id, htmlOf(part)]));
  let timer = 0;
  let asked = Date.now();
  let touched = 0;
  let isAsking = false;

  const everyS = () => {
    const found = parts().map((part) => Number(part.dataset.liveEvery)).filter((seconds) => seconds > 0);
    return found.length ? Math.min(...found) : null;
  };
  const address = () => document.querySelector("[data-live-part][data-live-address]")?.dataset.liveAddress || location.href;

  function schedule(afterS = everyS()) {
    clearTimeout(timer);
    if (afterS === null) return;
    timer = setTimeout(ask, 1000 * (document.hidden ? Math.max(afterS, HIDDEN_S) : afterS));
  }

  async function ask() {
    clearTimeout(timer);
    if (isAsking) return;
    isAsking = true;
    let next; // as often as the parts say
    try {
      const answer = await fetch(address(), { headers: { "HX-Request": "true" }, cache: "no-store" });
      const isOver = answer.redirected || [401, 403, 404].includes(answer.status); // signed out, deleted
      if (isOver) next = null;
      else if (!answer.ok) next = TROUBLE_S;
      else if (!put(read(await answer.text()))) next = IDLE_MS / 1000;
    } catch {
      next = TROUBLE_S; // the server is away for a moment
    }
    isAsking = false;
    asked = Date.now();
    schedule(next);
  }

  /** The document in an answer. Without scripts it would show what is there for those who have none. */
  function read(html) {
    const found = new DOMParser().parseFromString(html, "text/html");
    for (const hint of all("noscript", found)) hint.remove();
    return found;
  }

  /** Replace the parts that are other ones in ``found``; false where one has to wait for the user. */
  function put(found) {
    let isAllDone = true;
    const changed = [];
    for (const part of parts()) {
      const now = found.getElementById(part.id);
      if (!now || isAlike(part, now)) continue;
      if (isInHand(part)) {
        isAllDone = false;
        continue;
      }
      if ("liveReload" in now.dataset) {
        location.reload();
        return true;
      }
      const isOtherState = part.dataset.liveState !== now.dataset.liveState;
      served.set(part.id, htmlOf(now));
      replace(part, now);
      changed.push({ id: part.id, isOtherState });
      if (isOtherState) turn(now);
    }
    if (changed.length) document.dispatchEvent(new CustomEvent("live:put", { detail: changed }));
    return isAllDone;
  }

  function isAlike(part, now) {
    if (part.dataset.livePart === "form") return stateOf(part).isEqualNode(stateOf(now));
    return served.get(part.id) === htmlOf(now);
  }

  /** A copy whose attributes say what its fields hold; what is open or being settled says nothing. */
  function stateOf(part) {
    const copy = part.cloneNode(true);
    const copies = all(FIELDS, copy);
    all(FIELDS, part).forEach((field, index) => {
      if (field.matches("option")) copies[index].toggleAttribute("selected", field.selected);
      else if (field.matches("[type=checkbox], [type=radio]")) copies[index].toggleAttribute("checked", field.checked);
      else copies[index].setAttribute("value", field.value);
    });
    for (const hint of all("noscript", copy)) hint.remove();
    for (const opened of all("details", copy)) opened.removeAttribute("open");
    for (const settled of all("[class='']", copy)) settled.removeAttribute("class");
    copy.normalize();
    return copy;
  }

  /** Whether somebody types in it at this moment, or has marked text of it to copy. */
  function isInHand(part) {
    const selection = getSelection();
    if (selection && !selection.isCollapsed && selection.rangeCount && selection.getRangeAt(0).intersectsNode(part)) return true;
    const isTyped = part.contains(document.activeElement) && document.activeElement.matches("select, textarea, input:not([type=checkbox], [type=radio])");
    return isTyped && Date.now() - touched < IDLE_MS;
  }

  const nameOf = (field) => field.id || `${field.localName} ${field.name || field.textContent.trim()} ${field.matches("[type=checkbox], [type=radio], button") ? field.value : ""}`;
  const isTypedIn = (field) => (field.matches("[type=checkbox], [type=radio]") ? field.checked !== field.defaultChecked : field.matches("input:not([type=hidden]), textarea") && field.value !== field.defaultValue);

  function replace(part, now) {
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const focusedName = focused && nameOf(focused);
    const caret = focused && "selectionStart" in focused && focused.selectionStart !== null ? [focused.selectionStart, focused.selectionEnd] : null;
    const named = new Map(all("input, textarea, select, button, a, summary", now).map((field) => [nameOf(field), field]));
    if (part.dataset.livePart !== "form") {
      for (const field of all("input, textarea", part).filter(isTypedIn)) {
        const to = named.get(nameOf(field));
        if (to) [to.value, to.checked] = [field.value, field.checked];
      }
    }
    for (const opened of all("details[id][open]", part)) {
      const to = now.querySelector(`#${CSS.escape(opened.id)}`);
      if (to) to.open = true;
    }
    part.replaceWith(document.adoptNode(now));
    window.htmx?.process(now);
    const to = focusedName && named.get(focusedName);
    if (!to) return;
    to.focus({ preventScroll: true });
    if (caret && "setSelectionRange" in to) to.setSelectionRange(...caret);
  }

  /** Things are otherwise than when the page came. */
  function turn(part) {
    for (const said of all("[data-messages] .is-success, [data-messages] .is-info")) said.remove();
    for (const empty of all("[data-messages]:not(:has(*))")) empty.remove();
    const news = document.getElementById("live-news");
    if (news && part.dataset.liveNews) news.textContent = part.dataset.liveNews;
  }

  for (const what of ["keydown", "input", "pointerdown"]) {
    document.addEventListener(what, () => { touched = Date.now(); }, { capture: true, passive: true });
  }
  document.addEventListener("visibilitychange", () => {
    const seconds = everyS();
    if (document.hidden || seconds === null) schedule();
    else if (Date.now() - asked >= seconds * 1000) ask();
    else schedule();
  });
  // Back from another page the browser may show this one as it was left.
  window.addEventListener("pageshow", (event) => { if (event.persisted && everyS() !== null) ask(); });
  document.addEventListener("htmx:afterSettle", () => schedule());
  window.fsbenchLive = { ask, nameOf, put, read };
  schedule();
}
