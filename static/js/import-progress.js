// The page of an import on its way: asks how far it is, and shows the next page when it is done.
const card = document.querySelector("[data-import-progress]");
const UNTAKEN_AFTER_MS = 15_000;
const began = Date.now();

async function ask() {
  let wait = 1000;
  try {
    const answer = await fetch(card.dataset.address, { headers: { Accept: "application/json" } });
    if (answer.status === 404) {
      location.reload();
      return;
    }
    const said = await answer.json();
    if (said.state !== card.dataset.state) {
      location.reload();
      return;
    }
    card.querySelector("[data-phase]").textContent = said.phase || "Waiting for the importer";
    // SQLite tells nothing while it stores: a bar without a value says that something goes on.
    const unknown = said.phase === "Storing" && said.progress === 0;
    card.querySelector("[data-percent]").textContent = unknown ? "" : `${Math.round(said.progress * 100)}%`;
    const bar = card.querySelector("[data-bar]");
    if (unknown) bar.removeAttribute("value");
    else bar.value = said.progress;
    const untaken = !said.claimed && Date.now() - began > UNTAKEN_AFTER_MS;
    card.querySelector("[data-no-importer]").hidden = !untaken;
  } catch {
    wait = 5000; // the server is away for a moment
  }
  setTimeout(ask, wait);
}

if (card) setTimeout(ask, 500);
