// The run pages' niceties: everything works without this file except the live log.

const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];
const span = (className, textContent) => Object.assign(document.createElement("span"), { className, textContent });

// ---- form: options of what is not chosen are put away, and not sent ----
function setUpForm(root = document) {
  // Where scripts run these are empty; in what a script has fetched they are buttons.
  for (const hint of findAll("[data-job-form] noscript", root)) hint.remove();
  for (const control of findAll("[data-reveals]", root)) {
    const panel = root.getElementById(control.dataset.reveals);
    if (!panel) continue;
    panel.hidden = !control.checked;
    // Parameters of a workload that is not chosen mean nothing and are not sent. Options of a file
    // system are, so that a variant that is not ticked for now keeps them.
    if (control.type === "radio" || control.name === "workload") {
      for (const input of findAll("input, select", panel)) input.disabled = panel.hidden;
    }
  }
  for (const select of findAll("[data-hides]", root)) {
    const panel = root.getElementById(select.dataset.hides);
    if (panel) panel.hidden = select.value !== "";
  }
  sayTimesHere(root);
  for (const said of findAll("[data-job-form] summary [data-said]", root)) sayWhatIsChanged(said);
}

// ---- form: what was chosen in a fold stands in its summary, so that it is seen when it is closed ----
function sayWhatIsChanged(said) {
  said.dataset.served ??= said.textContent;
  const named = (field) => (field.labels?.[0]?.textContent ?? field.name).replace(/\s+/g, " ").trim();
  const chosen = findAll("input, select", said.closest("details")).flatMap((field) => {
    if (field.matches("[type=checkbox], [type=radio]")) {
      if (field.checked === field.defaultChecked || (field.type === "radio" && !field.checked)) return [];
      return [field.checked ? field.value === "yes" ? named(field) : `${field.name} ${field.value}` : `not ${named(field)}`];
    }
    if (field.matches("select")) {
      const served = findAll("option", field).find((option) => option.defaultSelected) || field.options[0];
      const option = field.selectedOptions[0];
      return !option || option === served ? [] : [`${named(field)}: ${option.text.split(" – ")[0]}`];
    }
    return field.value === field.defaultValue ? [] : [`${named(field)}: ${field.value || "empty"}`];
  });
  const text = chosen.length ? `now ${chosen.join(", ")}` : said.dataset.served;
  if (said.textContent !== text) said.textContent = text;
}

// ---- form: a time is the site's; where the reader's clock shows another, that stands beside it ----
function siteTime(text, zone) {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return null;
  const shown = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short", timeStyle: "medium", hourCycle: "h23" });
  const offset = (at) => Date.parse(`${shown.format(at).replace(", ", "T")}Z`) - at;
  // Twice: the offset at that time, not at the time of the same name in UTC.
  return new Date(asUtc - offset(asUtc - offset(asUtc)));
}

function sayTimesHere(root = document) {
  for (const input of findAll("[data-site-time]", root)) {
    const here = find("[data-here]", input.closest(".field"));
    const at = siteTime(input.value, input.dataset.siteTime);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const isOther = at !== null && zone !== input.dataset.siteTime;
    here.textContent = isOther ? `Where you are (${zone}) that is ${at.toLocaleString()}.` : "";
  }
}

// ---- triggers: a time in UTC has the reader's own beside it ----
function sayReaderTimes() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const time of findAll("time[data-reader-time]")) {
    time.after(span("muted", ` · ${new Date(time.dateTime).toLocaleString()} ${zone}`));
  }
}

// ---- form: what the time to stop leaves out stands beside it, whatever of the job is changed ----
function askForOutlook(changed) {
  const said = document.getElementById("form-outlook");
  const isAsked = Boolean(document.getElementById("id-stop_before")?.value);
  if (!said || (!isAsked && !said.textContent.trim())) return;
  // What fetches the form anew brings it along.
  if (!changed.closest("[hx-get]")) window.htmx?.trigger(said, "outlook");
}

document.addEventListener("change", (event) => {
  if (event.target.closest("[data-job-form]")) {
    setUpForm();
    askForOutlook(event.target);
  }
  const filters = event.target.closest("[data-submit-on-change]");
  if (filters) filters.requestSubmit();
});
document.addEventListener("htmx:afterSettle", () => setUpForm());
// htmx finds what had the focus by its id alone: without one the Tab key would begin at the page's end.
let used = null;
document.addEventListener("htmx:beforeSwap", (event) => {
  const field = event.detail.target.contains(document.activeElement) ? document.activeElement : null;
  used = field && { name: window.fsbenchLive.nameOf(field), place: field.closest("[id]:not([id^='options-'])")?.id };
});
document.addEventListener("htmx:afterSettle", () => {
  const form = find("[data-job-form]");
  if (!used || !form || document.activeElement !== document.body) return;
  const fields = findAll("input:not([type=hidden]), select, button", form).filter((field) => !field.disabled);
  // A variant that was removed took its button along: on with its file system.
  const to = fields.find((field) => window.fsbenchLive.nameOf(field) === used.name)
    || fields.find((field) => field.closest(`#${CSS.escape(used.place)}`));
  to?.focus({ preventScroll: true });
  used = null;
});
// Empty fields say nothing: without them the address stays short enough to read.
document.addEventListener("formdata", (event) => {
  if (!event.target.matches("[data-job-form], [data-submit-on-change]")) return;
  const noWorkload = !event.formData.getAll("workload").some((value) => value !== "");
  // A parameter that was emptied is refused: the preset's own value must not come back unseen.
  const isParameter = (name) => /^[^.]+\.[^.]+$/.test(name);
  const says = ([name, value]) => value !== "" || name === "repeats" || isParameter(name) || (name === "workload" && noWorkload);
  const kept = [...event.formData].filter(says);
  for (const name of new Set(event.formData.keys())) event.formData.delete(name);
  for (const [name, value] of kept) event.formData.append(name, value);
});

// ---- form: what a worker can do changes while it is filled in; what is filled in stays ----
const filledIn = (form) => new URLSearchParams(new FormData(form)).toString();

async function showWhatIsPossible() {
  const form = find("[data-job-form]");
  if (!form) return;
  if ("refused" in form.dataset) {
    find("[data-job-form-changed]", form).hidden = false;
    return;
  }
  const again = (afterMs) => setTimeout(showWhatIsPossible, afterMs);
  const sent = filledIn(form);
  let answer;
  try {
    answer = await fetch(`${form.dataset.anew}?${sent}`, { headers: { "HX-Request": "true" }, cache: "no-store" });
  } catch {
    again(5000);
    return;
  }
  if (answer.redirected) return; // signed out: the next click says so
  if (!answer.ok) {
    again(5000);
    return;
  }
  const found = window.fsbenchLive.read(await answer.text());
  // Somebody went on filling it in, or chose another LUN, meanwhile: what was fetched is old.
  if (find("[data-job-form]") !== form || filledIn(form) !== sent) {
    again(500);
    return;
  }
  // A form without a LUN has no other part yet.
  if (findAll("[data-live-part]", found).some((part) => !document.getElementById(part.id))) {
    window.location.reload();
    return;
  }
  setUpForm(found);
  const isAllDone = window.fsbenchLive.put(found);
  setUpForm();
  history.replaceState(history.state, "", answer.headers.get("HX-Replace-Url") || location.href);
  if (!isAllDone) again(1000);
}

document.addEventListener("live:put", (event) => {
  if (event.detail.some((part) => part.id === "form-possible" && part.isOtherState)) showWhatIsPossible();
});

// ---- review: the button waits for the LUN's name; the server checks it again ----
function setUpConfirmation(form) {
  const input = find("input[name=confirmation]", form);
  const button = find("button", form);
  form.dataset.isSetUp = "yes";
  const update = () => { button.disabled = input.value !== form.dataset.confirmName; };
  input.addEventListener("input", update);
  form.addEventListener("submit", () => { setTimeout(() => { button.disabled = true; }, 0); });
  // Back from the run's page the browser may show this page as it was left.
  window.addEventListener("pageshow", update);
  update();
}

// ---- run: state and log as they come ----
const POLL_S = 10;
const HIDDEN_POLL_S = 60;
function follow(live) {
  const log = find("[data-run-log]");
  const connection = find("[data-run-connection]");
  let isAtEnd = true;
  log?.addEventListener("scroll", () => {
    isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
  });
  if (log) log.scrollTop = log.scrollHeight;

  const address = new URL(live.dataset.events, location.href);
  const source = new EventSource(address);
  source.addEventListener("open", () => { connection.textContent = "Live: this page follows the run by itself."; });
  source.addEventListener("error", () => {
    // Refused, mostly because too many live logs are open (429): the browser does not try again.
    if (source.readyState === EventSource.CLOSED) poll();
    else connection.textContent = "The connection is lost; trying again …";
  });

  let isOver = false;
  /** Ask for what is new every POLL_S, and treat it as what the stream sends. */
  async function poll() {
    let sentence = `Not live: too many live logs are open. This page asks every ${POLL_S} seconds.`;
    try {
      const answer = await fetch(address, { cache: "no-store" });
      if ([401, 403, 404].includes(answer.status)) {
        connection.textContent = "The connection ended. Reload the page to go on.";
        return;
      }
      if (answer.ok) receive(await answer.text());
      else sentence = "The server does not answer; trying again …";
    } catch {
      sentence = "The connection is lost; trying again …";
    }
    if (isOver) return;
    connection.textContent = sentence;
    setTimeout(poll, 1000 * (document.hidden ? HIDDEN_POLL_S : POLL_S));
  }
  /** The events of an answer, given to those who listen to the stream. */
  function receive(text) {
    for (const block of text.split("\n\n")) {
      const fields = new Map(block.split("\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(": ") + 2)]));
      if (!fields.has("event")) continue;
      const details = { data: fields.get("data"), lastEventId: fields.get("id") || "" };
      source.dispatchEvent(new MessageEvent(fields.get("event"), details));
    }
  }
  address.searchParams.set("once", "1"); // of those that follow

  source.addEventListener("log", (event) => {
    address.searchParams.set("after", event.lastEventId);
    const line = JSON.parse(event.data);
    const row = span(`is-${line.stream}`, "");
    row.append(span("muted", line.at), ` ${line.text}`);
    log.append(row, "\n");
    find("[data-run-log-empty]")?.remove();
    log.hidden = false;
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  });
  let shown = null;
  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    find("[data-run-phase]").textContent = state.phase || state.label;
    find("[data-run-progress]").value = state.progress;
    find("[data-run-percent]").textContent = state.state === "queued" ? "" : `${Math.round(state.progress * 100)}%`;
    find("[data-run-remaining]").textContent = state.remaining ? `, about ${state.remaining} left` : "";
    // Buttons and notices of the state before are over: another person may have cancelled it, too.
    const now = `${state.state} ${state.cancelling}`;
    if (shown !== null && shown !== now) window.fsbenchLive.ask();
    if (shown === now) return;
    shown = now;
    find("[data-run-badge]").replaceChildren(span(`badge is-${state.state}`, state.label.toLowerCase()));
    const steps = findAll("[data-step]");
    const current = steps.findIndex((step) => step.dataset.step === state.state);
    if (current < 0) return;
    steps.forEach((step, index) => {
      step.className = `badge${index < current ? " is-done" : index === current ? " is-running" : ""}`;
      if (index === current) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    });
  });
  source.addEventListener("end", () => {
    isOver = true;
    source.close();
    connection.textContent = "The run has ended; loading its results …";
    window.location.reload();
  });
  // A page that is left behind holds a connection that another tab may need.
  window.addEventListener("pagehide", () => source.close());
}

const setUpConfirmations = () => findAll("[data-confirm-name]:not([data-is-set-up])").forEach(setUpConfirmation);

setUpForm();
setUpConfirmations();
sayReaderTimes();
document.addEventListener("live:put", setUpConfirmations);
findAll("[data-run-live]").forEach(follow);
