// The guest kernels of a worker's page, as they are now: while one is on its way, and after one was asked for.
const EVERY_MS = 2000;

async function look() {
  const section = document.querySelector("[data-guest-kernels]");
  const isWanted = section && ("live" in section.dataset || location.hash === "#guest-head");
  // What somebody is typing stays.
  if (isWanted && !document.hidden && !section.contains(document.activeElement)) {
    try {
      const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const found = page.querySelector("[data-guest-kernels]");
        if (found && found.textContent !== section.textContent) section.replaceWith(found);
      }
    } catch {
      // The server is away for a moment.
    }
  }
  setTimeout(look, EVERY_MS);
}

setTimeout(look, EVERY_MS);
