// A long session holds only the turns that are near: others are asked for as they come into sight,
// and let go again once they are far.
const NEAR = 6000;
const isNear = (place) => {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom > -NEAR && top < innerHeight + NEAR;
};
const start = () => {
  const chat = document.querySelector(".chat");
  if (!chat || chat.dataset.live) return;
  chat.dataset.live = "yes";
  const chunks = Number(chat.dataset.chunks);
  const first = Number(chat.dataset.chunk);
  if (chunks < 2) return;
  const original = chat.querySelector(".turns");
  const height = Math.max(original.offsetHeight, 600);
  const places = [];
  for (const link of chat.querySelectorAll(".turn-page")) link.remove();
  for (let at = 0; at < chunks; at += 1) {
    const place = document.createElement("div");
    place.dataset.at = at;
    if (at === first) place.append(original);
    else place.style.blockSize = `${height}px`;
    places.push(place);
  }
  chat.replaceChildren(...places);
  const address = new URL(chat.dataset.address, location.href);
  const fill = async (place) => {
    if (place.dataset.state || place.childElementCount) return;
    place.dataset.state = "asked";
    address.searchParams.set("chunk", place.dataset.at);
    try {
      const reply = await fetch(address, { headers: { "HX-Request": "true" } });
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
  if (first > 0 && !location.hash) places[first].scrollIntoView();
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
};
start();
document.addEventListener("htmx:afterSettle", start);
