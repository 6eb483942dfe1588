// The overview: a card for each model with its error as a curve, and its challengers as thin lines.

import { Chart, aligned, seriesOf } from "./chart.js";
import { el, fill, say } from "./dom.js";
import { brief, count, percent, rate } from "./format.js";
import { Problem, address, call } from "./service.js";
import { behind, champion, last, may, speed, state } from "./state.js";

export class Overview {
  constructor() {
    this.title = "Overview";
    this.cards = new Map();
    this.grid = el("div", { class: "cards" });
    this.element = el("div", {}, el("h1", {}, "Models"), this.grid);
    this.seen = new IntersectionObserver((found) => {
      for (const each of found) {
        const card = each.target.card;
        card.visible = each.isIntersecting;
        if (card.visible) card.update();
      }
    }, { rootMargin: "200px" });
    this.update();
  }

  update() {
    if (!state.known) return;
    for (const [name, card] of this.cards) {
      if (state.models.has(name)) continue;
      this.seen.unobserve(card.element);
      card.chart?.destroy();
      this.cards.delete(name);
    }
    if (state.models.size === 0) {
      fill(this.grid, empty());
      return;
    }
    const names = [...state.models.keys()].sort();
    if (names.length !== this.cards.size || names.some((name) => !this.cards.has(name))) {
      for (const name of names) if (!this.cards.has(name)) this.cards.set(name, this.card(name));
      fill(this.grid, names.map((name) => this.cards.get(name).element));
    }
    for (const card of this.cards.values()) if (card.visible) card.update();
  }

  card(name) {
    const card = new ModelCard(name);
    card.element.card = card;
    this.seen.observe(card.element);
    return card;
  }

  redraw() {
    for (const card of this.cards.values()) card.chart?.redraw();
  }

  export() {
    const header = ["model", "learner", "kind", "champion", "t", "lag", "errors", "windowed_error", "mistakes", "bound", "updates", "asked", "saved", "answered", "waiting"];
    const rows = [...state.models.values()].flatMap((m) => m.learners.map((l) =>
      [m.name, l.name, l.learner, l.name === m.champion, l.t, l.lag, l.errors, l.error, l.mistakes, last(l, "bound"), l.updates, m.asked, m.saved, m.answered, m.waiting]));
    const pictures = [...this.cards.entries()].map(([title, card]) => ({ title, canvas: card.chart?.canvas }));
    return { name: "overview", header, rows, pictures };
  }

  destroy() {
    this.seen.disconnect();
    for (const card of this.cards.values()) card.chart?.destroy();
  }
}

class ModelCard {
  constructor(name) {
    this.name = name;
    this.visible = true;
    this.facts = Object.fromEntries(["error", "speed", "mistakes", "labels", "lag"].map((key) => [key, el("dd")]));
    this.kind = el("span", { class: "note" });
    this.rivals = el("ul", { class: "rivals" });
    this.plotted = el("div");
    const fact = (title, key) => el("div", {}, el("dt", {}, title), this.facts[key]);
    this.element = el("article", { class: "card", "data-model": name },
      el("h2", {}, el("a", { href: `#/model/${encodeURIComponent(name)}` }, name), " ", this.kind),
      this.plotted,
      el("dl", { class: "facts" },
        fact("error of the last 1,000", "error"), fact("examples", "speed"), fact("mistakes, and their bound", "mistakes"),
        fact("labels", "labels"), fact("journal", "lag")),
      this.rivals);
  }

  update() {
    const model = state.models.get(this.name);
    if (!model) return;
    const best = champion(model);
    const learners = [best, ...model.learners.filter((each) => each !== best)];
    this.draw(learners);
    say(this.kind, best.learner);
    say(this.facts.error, percent(best.error));
    say(this.facts.speed, `${count(best.t)}, ${rate(speed(model))}`);
    say(this.facts.mistakes, mistakesAndBound(best));
    say(this.facts.labels, `${brief(model.asked)} asked, ${brief(model.saved)} saved, ${brief(model.answered)} given`);
    say(this.facts.lag, progress(model, best));
    this.element.classList.toggle("trouble", Boolean(best.failure));
    this.challengers(model, learners.slice(1));
  }

  draw(learners) {
    const key = learners.map((each) => each.name).join(" ");
    if (key !== this.key) {
      this.key = key;
      this.chart?.destroy();
      this.chart = new Chart({
        small: true,
        height: 120,
        values: percent,
        series: seriesOf(learners),
        describe: ([xs, ys]) => `Error of the last examples of ${this.name}: ${percent(ys.at(-1))} after ${count(xs.at(-1) ?? 0)}, ${percent(ys[0])} at the beginning.`,
      });
      fill(this.plotted, this.chart.element);
    }
    this.chart.show(aligned(learners.map((each) => ({ t: each.curve.t, y: each.curve.error }))));
  }

  challengers(model, rivals) {
    const key = JSON.stringify([model.champion, rivals.map((each) => each.name), may("admin")]);
    if (key !== this.rivalsKey) {
      this.rivalsKey = key;
      this.rivalTexts = rivals.map(() => el("span"));
      fill(this.rivals, rivals.map((each, i) => {
        const line = el("span", { class: "key" });
        line.style.setProperty("--of", `var(--curve-${1 + ((i + 1) % 4)})`);
        const button = may("admin") && el("button", {
          type: "button",
          class: "quiet",
          onclick: () => promote(model.name, each.name, button),
          "aria-label": `Promote ${each.name} of ${model.name}`,
        }, "promote");
        return el("li", {}, line, this.rivalTexts[i], " ", button);
      }));
    }
    rivals.forEach((each, i) => {
      const lag = behind(model, each) ? `, ${brief(each.lag)} behind` : "";
      say(this.rivalTexts[i], `${each.name} (${each.learner}) ${percent(each.error)}${lag}`);
    });
  }
}

/** The mistakes of a learner beside their bound. */
function mistakesAndBound(learner) {
  const bound = last(learner, "bound");
  if (bound === null) return `${count(learner.mistakes)}, no bound`;
  const note = bound >= last(learner, "t") ? " (says nothing yet)" : "";
  return `${count(last(learner, "mistakes"))} ≤ ${count(Math.floor(bound))}${note}`;
}

/** How far the champion of a model has come in the journal. */
function progress(model, best) {
  if (best.failure) return `stopped: ${best.failure}`;
  if (!model.ready) return `rebuilding, ${brief(best.lag)} examples to go`;
  return behind(model, best) ? `${count(best.lag)} behind` : "up to date";
}

async function promote(model, learner, button) {
  if (!confirm(`Let ${learner} answer for ${model} from now on?`)) return;
  button.disabled = true;
  try {
    await call("POST", `${address(model)}/promote`, { learner });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    button.title = error.message;
    button.textContent = "refused";
  }
  button.disabled = false;
}

/** What to do with a service that holds nothing. */
function empty() {
  const here = location.origin;
  const commands = [
    ["Make a model", `curl -X PUT ${here}/v1/models/first -H 'content-type: application/json' -d '{"learner": "AROW"}'`],
    ["Teach it", `curl ${here}/v1/models/first/learn -H 'content-type: application/json' -d '{"x": [1.0, 2.5], "y": "yes"}'`],
    ["Or send a file", `ellipsoid send ${here} first data.csv`],
  ];
  return el("section", { class: "empty" },
    el("h2", {}, "Nothing here yet"),
    el("p", {}, "These three commands fill the service; the page updates by itself."),
    commands.map(([title, text]) => el("div", {}, el("h3", {}, title), el("pre", { tabindex: "0" }, text))));
}
