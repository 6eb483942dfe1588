// What weighs most for each label: as pictures where the weights make squares, else as names with bars.

import { el } from "./dom.js";
import { figure } from "./format.js";
import { picture } from "./picture.js";

/** The weights of a portrait. */
export function weights(all) {
  if (!all.length) return el("p", { class: "note" }, "This learner has no weights of features to show.");
  if (all[0].square) {
    return el("div", { class: "sheets" }, all.map((each) => el("figure", {},
      picture(each.square, { size: 88, signed: true, label: `Weights of ${each.label}: blue speaks for it, orange against` }),
      el("figcaption", {}, String(each.label)))));
  }
  return el("div", { class: "heaviest" }, all.map((each) => {
    const most = Math.max(...each.heaviest.map((one) => Math.abs(one.weight)), 1e-300);
    return el("table", { class: "pushes" }, el("caption", {}, String(each.label)), el("tbody", {}, each.heaviest.map((one) => {
      const bar = el("span", { class: `bar ${one.weight > 0 ? "for" : "against"}` });
      bar.style.width = `${(100 * Math.abs(one.weight)) / most}%`;
      const name = /^\d+$/.test(one.feature) ? `number ${Number(one.feature) + 1}` : one.feature;
      return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "barred" }, bar), el("td", { class: "number" }, figure(one.weight)));
    })));
  }));
}
