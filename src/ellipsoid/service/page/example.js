// An example, shown plainly: a text, a picture, names with values, or numbers.

import { el } from "./dom.js";
import { figure } from "./format.js";
import { picture, side } from "./picture.js";

const MOST = 200;

/** An element that shows x as the service has it. */
export function example(x, { size = 224 } = {}) {
  if (side(x)) return picture(x, { size, label: `A picture of ${side(x)} by ${side(x)} numbers` });
  if (Array.isArray(x)) {
    const more = x.length > MOST ? [el("li", {}, `and ${x.length - MOST} more`)] : [];
    return el("ol", { class: "numbers" }, x.slice(0, MOST).map((value) => el("li", {}, figure(value))), more);
  }
  const names = Object.keys(x);
  if (names.length === 1 && typeof x.text === "string") return el("blockquote", { class: "text" }, x.text);
  return el("table", { class: "named" }, el("tbody", {}, names.slice(0, MOST).map((name) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value(x[name]))))));
}

const value = (it) => (it === null ? "missing" : typeof it === "number" ? figure(it) : String(it));
