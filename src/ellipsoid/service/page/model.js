// The view of a model: mistakes below their certificate, the shrinking shadow of the ellipsoid, errors, weights and parameters.

import { Chart, aligned, seriesOf } from "./chart.js";
import { confusion } from "./confusion.js";
import { el, fill, say } from "./dom.js";
import { count, figure, percent, rate } from "./format.js";
import { address, call } from "./service.js";
import { ShadowPicture } from "./shadow.js";
import { COLUMNS, behind, champion, last, speed, state } from "./state.js";
import { weights } from "./weights.js";

const PORTRAIT_EVERY = 2000;
const MOST_POINTS = 1000;

export class Model {
  constructor(name) {
    this.name = name;
    this.title = name;
    this.of = state.models.get(name)?.champion;
    this.log = false;
    this.head = el("p", { class: "tally" });
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.chooser = el("select", { "aria-label": "Learner", onchange: () => this.choose(this.chooser.value) });
    this.logButton = el("button", {
      type: "button", class: "quiet", "aria-pressed": "false", "aria-keyshortcuts": "l", onclick: () => this.toggle(),
    }, "log scale");
    this.closes = el("p", { class: "note" });
    this.shadow = new ShadowPicture();
    this.bound = new Chart({
      height: 300,
      values: percent,
      series: [
        { label: "mistakes", colour: "curve-0", width: 2.2 },
        { label: "bound of the certificate", colour: "curve-1", width: 2, dash: [6, 3] },
      ],
      bands: [[2, 1]],
      marks: () => this.portrait?.changes ?? [],
      describe: ([xs, mistakes, bound]) => `Mistakes ${percent(mistakes.at(-1))} of ${count(xs.at(-1) ?? 0)} examples; `
        + `by the certificate at most ${percent(bound.at(-1))}.${changes(this.portrait)}`,
    });
    const places = ["error", "confusion", "weights", "facts", "certificates", "axes"];
    this.places = Object.fromEntries(places.map((key) => [key, el("div")]));
    const panel = (title, ...inside) => el("section", { class: "panel" }, el("h2", {}, title), ...inside);
    const explained = el("p", { class: "note" }, "Its shadow on its two longest axes, measured with the last examples: "
      + "the wider it is, the more their labels are in doubt. Thin lines show earlier shadows.");
    this.shadowPanel = panel("The ellipsoid", explained, this.shadow.element, this.places.axes);
    this.element = el("div", { class: "model" },
      el("div", { class: "bar-of-view" }, el("h1", {}, name), this.chooser, this.logButton), this.head, this.trouble,
      el("div", { class: "heart" }, panel("The certificate", this.closes, this.bound.element), this.shadowPanel),
      panel("Error of the last 1,000 examples", this.places.error),
      el("div", { class: "heart" }, panel("Confusion", this.places.confusion), panel("Heaviest features", this.places.weights)),
      el("div", { class: "heart" }, panel("All certificates", this.places.certificates), panel("Parameters", this.places.facts)));
    this.load();
    this.timer = setInterval(() => this.look(), PORTRAIT_EVERY);
  }

  async load() {
    this.loading = true;
    try {
      const { champion: first, learners } = await call("GET", `${address(this.name)}/history`);
      this.of ??= first;
      this.history = new Map(learners.map((each) => [each.name, each]));
      this.draw();
      await this.look(true);
    } catch (error) {
      say(this.trouble, error.message);
    }
    this.loading = false;
  }

  async look(always = false) {
    // The service was away when this view was opened.
    if (!this.history && !this.loading && state.models.has(this.name)) await this.load();
    const now = this.learner();
    const known = this.portrait && this.portrait.of === this.of && this.portrait.t === now?.t;
    if (document.hidden || this.looking || !this.history || (known && !always)) return;
    this.looking = true;
    try {
      const portrait = await call("GET", `${address(this.name)}/portrait?${new URLSearchParams({ of: this.of })}`);
      if (portrait.of === this.of) this.show(portrait);
      say(this.trouble, "");
    } catch (error) {
      say(this.trouble, error.message);
    }
    this.looking = false;
  }

  learner() {
    return state.models.get(this.name)?.learners.find((each) => each.name === this.of);
  }

  /** The portrait's part of the view. */
  show(portrait) {
    const marked = this.portrait?.changes.length ?? 0;
    this.portrait = portrait;
    // The charts show marks that only a portrait has.
    if (portrait.changes.length !== marked) this.draw();
    const points = this.history.get(portrait.of);
    if (portrait.shadow) {
      const trail = (points?.t ?? []).map((t, i) => ({ t, longest: points.longest[i], second: points.second[i] }));
      this.shadow.show(portrait.shadow, [...trail, { ...portrait.shadow, t: portrait.t }]);
      fill(this.places.axes, el("p", { class: "note" }, `These two axes hold ${percent(portrait.shadow.share)} of all doubt.`));
    }
    this.shadowPanel.hidden = !portrait.shadow;
    this.shadowPanel.parentElement.classList.toggle("alone", !portrait.shadow);
    fill(this.places.confusion, confusion(portrait.confusion));
    const heavy = JSON.stringify(portrait.weights);
    if (heavy !== this.heavy) fill(this.places.weights, weights(portrait.weights));
    this.heavy = heavy;
    const facts = {
      learner: portrait.learner,
      scale: portrait.scale,
      ...portrait.params,
      labels: portrait.classes.length,
      features: portrait.features,
      "change alarms": portrait.changes.length || "none",
    };
    fill(this.places.facts, el("dl", { class: "facts" },
      Object.entries(facts).map(([title, value]) => el("div", {}, el("dt", {}, title), el("dd", {}, String(value))))));
    const none = el("p", { class: "note" }, "This learner gives no certificates for this run.");
    fill(this.places.certificates, portrait.certificates.length ? certificates(portrait.certificates, portrait.t) : none);
  }

  choose(name) {
    this.of = name;
    this.portrait = null;
    this.draw();
    this.look(true);
  }

  toggle() {
    this.log = !this.log;
    this.logButton.setAttribute("aria-pressed", String(this.log));
    for (const chart of [this.bound, this.error]) chart?.redraw(this.log);
  }

  key(event) {
    if (event.key !== "l") return false;
    this.toggle();
    return true;
  }

  update() {
    const model = state.models.get(this.name);
    if (!model) {
      if (state.known) say(this.trouble, `There is no model named ${this.name}.`);
      return;
    }
    this.of ??= model.champion;
    const names = model.learners.map((each) => each.name);
    const offered = JSON.stringify([names, model.champion]);
    if (offered !== this.offered) {
      this.offered = offered;
      fill(this.chooser, model.learners.map((each) => {
        const role = each.name === model.champion ? ", the champion" : "";
        return el("option", { value: each.name }, `${each.name}: ${each.learner}${role}`);
      }));
      this.chooser.value = this.of;
      this.chooser.hidden = names.length < 2;
    }
    const best = champion(model);
    const lag = behind(model, best) ? `${count(best.lag)} behind the journal` : "up to date";
    say(this.head, `${count(best.t)} examples, ${rate(speed(model))}, error ${percent(best.error)}, ${lag}`);
    if (!this.history) return;
    for (const learner of model.learners) this.append(learner);
    this.draw();
  }

  /** Append the newest point of a learner to its history. */
  append(learner) {
    let points = this.history.get(learner.name);
    if (!points) {
      points = Object.fromEntries(COLUMNS.map((column) => [column, []]));
      this.history.set(learner.name, { name: learner.name, learner: learner.learner, ...points });
      points = this.history.get(learner.name);
    }
    if (!(last(learner, "t") > (points.t.at(-1) ?? 0))) return;
    for (const column of COLUMNS) points[column].push(last(learner, column));
    if (points.t.length <= MOST_POINTS) return;
    for (const column of COLUMNS) points[column] = points[column].filter((_, i) => i % 2 === 0);
  }

  draw() {
    const points = this.history?.get(this.of);
    if (!points) return;
    const share = (counts) => counts.map((n, i) => (n === null ? null : Math.min(1, n / points.t[i])));
    this.bound.show([points.t, share(points.mistakes), share(points.bound)]);
    const [mistakes, bound, t] = [points.mistakes.at(-1), points.bound.at(-1), points.t.at(-1)];
    say(this.closes, bound === null || bound === undefined ? "No bound is known for this learner and run."
      : bound >= t ? `${count(mistakes)} mistakes so far; the bound is still above the number of examples.`
        : `${count(mistakes)} mistakes; at most ${count(Math.floor(bound))} were possible, ${percent(bound / t)} of all examples.`);
    const all = [points, ...[...this.history.values()].filter((each) => each !== points)];
    const key = all.map((each) => each.name).join(" ");
    if (key !== this.key_) {
      this.key_ = key;
      this.error?.destroy();
      this.error = new Chart({
        height: 200,
        values: percent,
        log: this.log,
        series: seriesOf(all),
        marks: () => this.portrait?.changes ?? [],
        describe: ([xs, ys]) => `Error of the last examples: ${percent(ys.at(-1))} after ${count(xs.at(-1) ?? 0)}.`
          + changes(this.portrait),
      });
      fill(this.places.error, this.error.element);
    }
    const learners = state.models.get(this.name)?.learners ?? [];
    this.error.show(aligned(all.map((each) => {
      const now = learners.find((one) => one.name === each.name);
      const later = now && now.error !== null && now.t > (each.t.at(-1) ?? 0);
      return later ? { t: [...each.t, now.t], y: [...each.windowed, now.error] } : { t: each.t, y: each.windowed };
    })));
  }

  redraw() {
    for (const chart of [this.bound, this.error]) chart?.redraw();
    this.heavy = null;
    if (this.portrait) this.show(this.portrait);
  }

  export() {
    const rows = [...(this.history?.values() ?? [])].flatMap((each) =>
      each.t.map((_, i) => [each.name, ...COLUMNS.map((column) => each[column][i])]));
    const pictures = [
      { title: `${this.name}: mistakes and their bound`, canvas: this.bound.canvas },
      { title: "Error of the last 1,000 examples", canvas: this.error?.canvas },
    ];
    if (this.portrait?.shadow) pictures.splice(1, 0, { title: "Shadow of the ellipsoid", canvas: this.shadow.canvas });
    return { name: this.name, header: ["learner", ...COLUMNS], rows, pictures };
  }

  destroy() {
    clearInterval(this.timer);
    for (const each of [this.bound, this.error, this.shadow]) each?.destroy();
  }
}

/** The marks of a chart, in words. */
function changes(portrait) {
  const found = portrait?.changes ?? [];
  return found.length ? ` A change of the stream was proved at ${found.map(count).join(", ")}.` : "";
}

/** A bound in words, after `t` examples. */
function boundInWords({ name, bound }, t) {
  if (bound === null) return "none";
  return name.startsWith("mistakes") && bound >= t ? "says nothing yet" : figure(bound);
}

function certificates(all, t) {
  const titles = ["of", "observed", "bound", "holds if"].map((title) => el("th", { scope: "col" }, title));
  const rows = all.map((each) => el("tr", {},
    el("td", {}, each.name),
    el("td", { class: "number" }, figure(each.observed)),
    el("td", { class: "number" }, boundInWords(each, t)),
    el("td", { class: "words" }, each.holds_if)));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Certificates" },
    el("table", {}, el("thead", {}, el("tr", {}, titles)), el("tbody", {}, rows)));
}
