// The reasons of a prediction: how sure the model is, and the features that matter most for the label or its rival.

import { barTable, featureName } from "./bars.js";
import { el } from "./dom.js";
import { figure, percent } from "./format.js";
import { picture, side } from "./picture.js";

const SHOWN = 6;

/** A prediction in words; `why` are the reasons of the service. */
export function reasons(predicted, why, x) {
  const rival = why.rival === null ? "" : String(why.rival);
  const sure = why.confidence === null
    ? `This label is ahead of ${rival} by ${figure(why.lead)}.`
    : `It is ${why.confidence > 0.99 ? "more than 99\u00a0%" : percent(why.confidence)} sure that this label is ahead of ${rival}; the lead is ${figure(why.lead)}.`;
  const heaviest = why.pushes.slice(0, SHOWN);
  const most = Math.max(...heaviest.map((each) => Math.abs(each.push)), 1e-300);
  const square = side(x);
  const parts = [el("p", {}, "The model says ", el("b", { class: "label" }, String(predicted)), ". ", rival ? sure : "")];
  if (square) {
    const all = new Array(x.length).fill(0);
    for (const each of why.pushes) all[Number(each.feature)] = each.push;
    parts.push(el("figure", {}, picture(all, { size: 112, signed: true, label: `What speaks for ${predicted} and what for ${rival}` }),
      el("figcaption", {}, key("curve-0"), `speaks for ${predicted}`, el("br"), key("curve-1"), `speaks for ${rival}`)));
  } else if (heaviest.length) {
    parts.push(barTable("Heaviest features", heaviest.map((each) => ({
      name: nameAndValue(each),
      kind: each.push > 0 ? "for" : "against",
      share: Math.abs(each.push) / most,
      value: `for ${each.push > 0 ? predicted : rival}`,
    })), null));
  }
  return el("div", { class: "reasons" }, parts);
}

function key(name) {
  const made = el("span", { class: "key" });
  made.style.setProperty("--of", `var(--${name})`);
  return made;
}

function nameAndValue({ feature, value }) {
  const name = featureName(feature);
  return value === 1 || value === true ? name : `${name} = ${typeof value === "number" ? figure(value) : value}`;
}
