// The page: which view is shown, keys, theme, and the connection that keeps it up to date.

import { el, fill, say } from "./dom.js";
import { Events } from "./events.js";
import { saveCsv, savePng } from "./export.js";
import { Model } from "./model.js";
import { Overview } from "./overview.js";
import { Questions } from "./questions.js";
import { token } from "./service.js";
import { state, take } from "./state.js";
import { TryIt } from "./try_it.js";

const place = (id) => document.getElementById(id);
const VIEWS = { model: Model, questions: Questions, try: TryIt };
let view = null;
let shown = null;

/** The view and the model that the URL names. */
function route() {
  const [kind = "", name = ""] = location.hash.replace(/^#\/?/, "").split("/");
  try {
    return VIEWS[kind] && name ? { kind, name: decodeURIComponent(name) } : { kind: "", name: "" };
  } catch {
    return { kind: "", name: "" };
  }
}

function open() {
  if (!state.known) return;
  const { kind, name } = route();
  if (shown === `${kind}/${name}`) return;
  shown = `${kind}/${name}`;
  view?.destroy();
  view = kind ? new VIEWS[kind](name) : new Overview();
  if (name) sessionStorage.setItem("model", name);
  const tools = el("p", { class: "tools" },
    el("button", { type: "button", class: "quiet", onclick: () => savePng(view.export()) }, "Save PNG"),
    el("button", { type: "button", class: "quiet", onclick: () => saveCsv(view.export()) }, "Save CSV"));
  fill(place("view"), view.element, tools);
  document.title = `${view.title} – ellipsoid`;
  navigation();
  view.update();
  scrollTo(0, 0);
  place("view").focus({ preventScroll: true });
}

/** The model that keys and links are about: the one shown last, or the first. */
function current() {
  const { name } = route();
  if (name) return name;
  const kept = sessionStorage.getItem("model");
  return state.models.has(kept) ? kept : [...state.models.keys()].sort()[0] ?? "";
}

function navigation() {
  const name = current();
  const { kind } = route();
  const links = [["", "Overview", "o"], ["model", "Model", "m"], ["questions", "Questions", "q"], ["try", "Try it", "t"]];
  fill(place("nav"), links.filter(([to]) => !to || name).map(([to, title, key]) =>
    el("a", { href: to ? `#/${to}/${encodeURIComponent(name)}` : "#/", "aria-current": to === kind ? "page" : null, "aria-keyshortcuts": key }, title)));
}

function pressed(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const to = { o: "", m: "model", q: "questions", t: "try" }[event.key];
  if (view?.key?.(event)) event.preventDefault();
  else if (event.key === "?") place("keys").showModal();
  else if (to === "") location.hash = "#/";
  else if (to && current()) location.hash = `#/${to}/${encodeURIComponent(current())}`;
}

function theme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const changed = () => {
    place("theme").setAttribute("aria-label", `Theme: ${now()}. Change it.`);
    view?.redraw();
  };
  place("theme").addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    changed();
  });
  dark.addEventListener("change", changed);
  changed();
}

const events = new Events((kind, data) => {
  const count = state.models.size;
  take(kind, data);
  if (state.models.size !== count) navigation();
  open();
  view?.update();
}, showConnection);

function showConnection(how, detail) {
  const words = { live: "live", lost: "connection lost, trying again …", refused: "a token is needed" };
  const pill = place("connection");
  pill.dataset.state = how;
  say(pill, words[how]);
  document.body.classList.toggle("stale", how !== "live");
  if (how === "refused") askToken(detail);
}

function askToken(why) {
  const dialog = place("token");
  say(place("token-why"), why);
  if (!dialog.open) dialog.showModal();
  dialog.addEventListener("close", () => {
    const text = place("token-text").value.trim();
    place("token-text").value = "";
    if (/[^!-~]/.test(text)) {
      askToken("This is not a token: it contains a character that tokens never have.");
      return;
    }
    token.text = text;
    events.read();
  }, { once: true });
}

addEventListener("hashchange", open);
addEventListener("keydown", pressed);
place("help").addEventListener("click", () => place("keys").showModal());
theme();
navigation();
events.start();
