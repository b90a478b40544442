// The pipeline's numbers as they come (server-sent events). Without it the page is as it was made.
const root = document.querySelector("[data-events]");
const LETTERS_AGAIN = [2000, 12000]; // the history has a dead letter some seconds after it is counted
let source, paused = false, dead, again;

const states = (which, shown) => {
  for (const one of document.querySelectorAll(`[data-state="${which}"]`)) {
    if (one.hidden === shown) one.hidden = !shown; // said anew only where it changes
  }
};
const mode = (now) => {
  for (const one of ["still", "live", "paused", "lost"]) states(one, one === now);
};
const show = (frame) => {
  mode("live");
  for (const place of root.querySelectorAll("[data-live]")) {
    const unknown = place.namespaceURI.endsWith("svg") ? "–" : root.dataset.unknown;
    const text = frame.numbers[place.dataset.live]?.text ?? unknown;
    if (place.textContent !== text) place.textContent = text;
  }
  states("away", frame.away !== null);
  states("not_ready", !frame.ready);
  states("ports_away", frame.ports === "away");
  for (const place of root.querySelectorAll("[data-fill=about]")) {
    if (place.textContent !== frame.about) place.textContent = frame.about;
  }
  const count = frame.numbers.dead?.value;
  if (count !== undefined && dead !== undefined && count !== dead) {
    for (const wait of LETTERS_AGAIN) setTimeout(letters, wait);
  }
  dead = count ?? dead;
};
// The list of dead letters, unless somebody is in it.
const letters = async () => {
  const here = document.querySelector("#letters");
  if (paused || document.hidden || here.contains(document.activeElement)) return;
  try {
    const reply = await fetch(location.href, { headers: { "HX-Request": "true" } });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const newer = page.querySelector("#letters");
    if (reply.ok && newer && newer.innerHTML !== here.innerHTML) here.replaceWith(document.adoptNode(newer));
  } catch {
    // the next change asks again
  }
};
const close = () => {
  clearTimeout(again);
  source?.close();
  source = undefined;
};
const open = () => {
  if (source || paused || document.hidden) return;
  source = new EventSource(root.dataset.events);
  source.addEventListener("frame", (event) => show(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    mode("lost");
    if (source?.readyState !== EventSource.CLOSED) return; // it tries again by itself
    close();
    again = setTimeout(open, 5000);
  });
};
if (root) {
  const button = document.querySelector("#pause");
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? button.dataset.resume : button.dataset.pause;
    if (paused) {
      close();
      mode("paused");
    } else {
      open();
    }
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}
// One tenant alone has no stream, and a sink may write a letter long after it was counted.
if (document.querySelector("#letters")) setInterval(letters, 15000);
