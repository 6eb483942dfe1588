// The weights of each label: as pictures where they make squares, else the heaviest as names with bars.

import { barTable, featureName } from "./bars.js";
import { el } from "./dom.js";
import { figure } from "./format.js";
import { picture } from "./picture.js";

/** The weights of a portrait. */
export function weights(all) {
  if (!all.length) return el("p", { class: "note" }, "This learner has no feature weights to show.");
  if (all[0].square) {
    return el("div", { class: "sheets" }, all.map((each) => el("figure", {},
      picture(each.square, { size: 88, signed: true, label: `Weights of ${each.label}: blue speaks for it, orange against` }),
      el("figcaption", {}, String(each.label)))));
  }
  return el("div", { class: "heaviest" }, all.map((each) => {
    const most = Math.max(...each.heaviest.map((one) => Math.abs(one.weight)), 1e-300);
    return barTable(String(each.label), each.heaviest.map(({ feature, weight }) =>
      ({ name: featureName(feature), kind: weight > 0 ? "for" : "against", share: Math.abs(weight) / most, value: figure(weight) })));
  }));
}
