// The confusion table of the last examples: true labels against predicted ones, with darker cells for higher counts.

import { el } from "./dom.js";
import { count } from "./format.js";

const MOST = 15;

/** A table of `confused` {label, predicted, count}; of many labels the most frequent ones. */
export function confusion(confused) {
  const known = confused.filter((each) => each.predicted !== null);
  const often = new Map();
  for (const each of known) for (const label of [each.label, each.predicted]) often.set(label, (often.get(label) ?? 0) + each.count);
  const labels = [...often.keys()].sort((a, b) => often.get(b) - often.get(a)).slice(0, MOST);
  labels.sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
  const counts = new Map(known.map((each) => [JSON.stringify([each.label, each.predicted]), each.count]));
  const of = (label, predicted) => counts.get(JSON.stringify([label, predicted])) ?? 0;
  const total = known.reduce((sum, each) => sum + each.count, 0);
  if (!labels.length) return el("p", { class: "note" }, "Nothing has been predicted yet.");
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Confusion table" }, el("table", { class: "confusion" },
    el("caption", {}, `The last ${count(total)} examples: true labels in rows, predicted labels in columns${often.size > MOST ? `, the ${MOST} most frequent` : ""}`),
    el("thead", {}, el("tr", {}, el("td"), labels.map((label) => el("th", { scope: "col" }, String(label))))),
    el("tbody", {}, labels.map((label) => {
      const all = labels.reduce((sum, other) => sum + of(label, other), 0) || 1;
      return el("tr", {}, el("th", { scope: "row" }, String(label)), labels.map((predicted) => {
        const n = of(label, predicted);
        const cell = el("td", { class: label === predicted ? "right" : n ? "wrong" : "" }, n ? count(n) : "");
        cell.style.setProperty("--weight", String(Math.round(100 * Math.sqrt(n / all))));
        return cell;
      }));
    }))));
}
