// What pages do beyond links and forms. Every page can be read without it.
document.documentElement.classList.add("scripted");

// A form sends only the fields that say something, so that an address to share is short.
const said = (parameters) => {
  for (const [name, value] of Object.entries(parameters)) if (value === "") delete parameters[name];
};
document.addEventListener("htmx:configRequest", (event) => {
  const parameters = event.detail.parameters;
  if (typeof parameters.delete === "function") {
    for (const [name, value] of [...parameters.entries()]) if (value === "") parameters.delete(name);
  } else {
    said(parameters);
  }
});
document.addEventListener("submit", (event) => {
  if (event.target.method !== "get") return;
  for (const field of event.target.elements) if (field.value === "" && field.name) field.disabled = true;
});
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form [disabled]")) field.disabled = false;
});

// A clock's slider stands on the times at which something changed; at its end it is now.
const step = (slider) => slider.dataset.steps.split(" ")[Number(slider.value)] ?? "";
document.addEventListener("input", (event) => {
  const slider = event.target.closest("[data-clock]");
  if (!slider) return;
  const field = document.getElementById(slider.dataset.clock);
  field.value = step(slider);
  field.classList.toggle("set", field.value !== "");
  slider.setAttribute("aria-valuetext", field.value || field.placeholder);
});
// Elsewhere on the page every link keeps the clocks.
document.addEventListener("htmx:afterSettle", () => {
  const now = new URLSearchParams(location.search);
  for (const link of document.querySelectorAll(".top a[href], footer a[href]")) {
    const there = new URL(link.href);
    for (const name of ["as_of", "known_at"]) {
      if (now.get(name)) there.searchParams.set(name, now.get(name));
      else there.searchParams.delete(name);
    }
    link.href = there;
  }
  document.querySelector(".clocks")?.setAttribute("data-settled", location.search);
});

// `/` goes to the search, as people know it from elsewhere.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const search = document.querySelector("#q");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  }
});

// Who has ended the tour is not shown it again, until they begin it themselves.
const ENDED = "turnfold.tour";
const remembered = (value) => {
  try {
    if (value === undefined) return localStorage.getItem(ENDED);
    if (value === null) localStorage.removeItem(ENDED);
    else localStorage.setItem(ENDED, value);
  } catch { /* a browser that keeps nothing shows it again */ }
  return null;
};
const tour = document.querySelector("[data-tour]");
if (tour && remembered()) tour.remove();
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-tour-begin]")) remembered(null);
  if (event.target.closest("[data-tour-end]")) remembered("ended");
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelector("[data-tour-end]")?.click();
});
