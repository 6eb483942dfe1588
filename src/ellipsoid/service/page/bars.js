// Tables of features or labels, each with a bar and a value.

import { el } from "./dom.js";

/** A table with a row for each {name, kind, share, value}: `kind` is the class of the bar, `share` its width from 0 to 1. */
export function barTable(caption, rows, valueClass = "number") {
  return el("table", { class: "pushes" }, el("caption", {}, caption), el("tbody", {}, rows.map(({ name, kind, share, value }) => {
    const bar = el("span", { class: `bar ${kind}` });
    bar.style.width = `${100 * share}%`;
    return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "barred" }, bar), el("td", { class: valueClass }, value));
  })));
}

/** The name of a feature; one that has only a number is counted from 1. */
export const featureName = (feature) => (/^\d+$/.test(feature) ? `number ${Number(feature) + 1}` : feature);
