// A long session holds only the turns that are near: others are asked for as they come into sight,
// and let go again once they are far.
const NEAR = 6000;
const isNear = (place) => {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom > -NEAR && top < innerHeight + NEAR;
};
// New turns as they come, where the clocks are at now. The history has them a moment after the
// server says that the session has changed, so it is asked some times.
const AGAIN = [300, 1500, 4000, 12000];
const merge = (held, turns) => {
  let before = null;
  for (const turn of [...turns.children]) {
    const known = document.getElementById(turn.id);
    const busy = known && (known.contains(document.activeElement) || known.querySelector("[open]"));
    if (!known) {
      if (before) before.after(turn);
      else held.prepend(turn);
    } else if (!busy && known.innerHTML !== turn.innerHTML) {
      known.replaceWith(turn);
    }
    before = document.getElementById(turn.id);
  }
};
const follow = (chat, places, address, grow) => {
  let source, timers = [], asking = false;
  const note = document.querySelector("#live");
  const ask = async () => {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const last = places.at(-1);
      const where = new URL(address);
      where.searchParams.set("chunk", last.dataset.at);
      const reply = await fetch(where, { headers: { "HX-Request": "true", "HX-Target": "turns" } });
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const turns = page.querySelector(".turns");
      if (!reply.ok || !turns) return;
      const held = last.querySelector(".turns");
      if (held) merge(held, turns);
      document.querySelector(".of.head").replaceWith(page.querySelector(".of.head"));
      const chunks = Number(page.querySelector(".chat").dataset.chunks);
      while (places.length < chunks) grow();
    } catch {
      // asked again at the next change
    } finally {
      asking = false;
    }
  };
  const close = () => {
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (source || document.hidden || !chat.isConnected) return;
    source = new EventSource(chat.dataset.events);
    source.addEventListener("open", () => {
      note.hidden = false;
      ask();
    });
    source.addEventListener("error", () => {
      note.hidden = true;
    });
    source.addEventListener("changed", () => {
      for (const timer of timers) clearTimeout(timer);
      timers = AGAIN.map((wait) => setTimeout(ask, wait));
    });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  document.addEventListener("htmx:afterSettle", () => chat.isConnected || close());
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
};
const start = () => {
  const chat = document.querySelector(".chat");
  if (!chat || chat.dataset.live) return;
  chat.dataset.live = "yes";
  const chunks = Math.max(1, Number(chat.dataset.chunks));
  const first = Number(chat.dataset.chunk);
  const original = chat.querySelector(".turns");
  const height = Math.max(original.offsetHeight, 600);
  const places = [];
  for (const link of chat.querySelectorAll(".turn-page")) link.remove();
  const another = () => {
    const place = document.createElement("div");
    place.dataset.at = places.length;
    places.push(place);
    return place;
  };
  for (let at = 0; at < chunks; at += 1) {
    const place = another();
    if (at === first) place.append(original);
    else place.style.blockSize = `${height}px`;
  }
  chat.replaceChildren(...places);
  const address = new URL(chat.dataset.address, location.href);
  const fill = async (place) => {
    if (place.dataset.state || place.childElementCount) return;
    place.dataset.state = "asked";
    address.searchParams.set("chunk", place.dataset.at);
    try {
      const reply = await fetch(address, { headers: { "HX-Request": "true", "HX-Target": "turns" } });
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const turns = page.querySelector(".turns");
      if (!reply.ok || !turns) throw new Error(`${reply.status}`);
      if (!isNear(place)) return;
      const above = place.getBoundingClientRect().bottom < 0;
      const before = place.offsetHeight;
      place.replaceChildren(document.adoptNode(turns));
      place.style.blockSize = "";
      if (above) scrollBy(0, place.offsetHeight - before);
    } catch {
      setTimeout(() => {
        seen.unobserve(place);
        seen.observe(place);
      }, 2000);
    } finally {
      delete place.dataset.state;
    }
  };
  const empty = (place) => {
    if (!place.childElementCount || place.contains(document.activeElement)) return;
    place.style.blockSize = `${place.offsetHeight}px`;
    place.replaceChildren();
  };
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      fill(entry.target);
    }
    for (const place of places) if (place.childElementCount && !isNear(place)) empty(place);
  }, { rootMargin: "1200px 0px" });
  for (const place of places) seen.observe(place);
  if (chat.dataset.events) {
    follow(chat, places, address, () => {
      const place = another();
      place.style.blockSize = `${height}px`;
      chat.append(place);
      seen.observe(place);
    });
  }
  if (first > 0 && !location.hash) places[first].scrollIntoView();
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
};
start();
document.addEventListener("htmx:afterSettle", start);
