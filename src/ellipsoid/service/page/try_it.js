// The view "Try it": an example to paste, edit or draw, and its prediction, which follows every change.

import { barTable } from "./bars.js";
import { el, fill, say } from "./dom.js";
import { picturesIn } from "./export.js";
import { figure } from "./format.js";
import { paint, picture, side } from "./picture.js";
import { reasons } from "./reasons.js";
import { address, call } from "./service.js";

const PAUSE = 150;

export class TryIt {
  constructor(name) {
    this.name = name;
    this.title = `Try ${name}`;
    this.text = el("textarea", { id: "example", rows: "8", spellcheck: "false", oninput: () => this.typed() });
    this.canvasBox = el("div", { class: "drawing" });
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.verdict = el("div", { class: "verdict", role: "status" });
    this.element = el("div", { class: "try" }, el("h1", {}, "Try ", el("span", { class: "label" }, name)),
      el("div", { class: "two" },
        el("section", {}, el("label", { for: "example" }, "An example: a list of numbers, an object of named features, or {\"text\": …}"), this.text, this.trouble, this.canvasBox),
        el("section", { "aria-label": "What the model says" }, this.verdict)));
    call("GET", `${address(name)}/portrait`).then(({ classes, sample }) => {
      this.classes = classes;
      if (sample && !this.text.value) {
        this.text.value = JSON.stringify(sample);
        this.typed();
      } else if (!sample) say(this.trouble, `${name} has learned nothing yet.`);
    }, (error) => say(this.trouble, error.message));
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  async ask() {
    let x;
    try {
      x = JSON.parse(this.text.value);
    } catch (error) {
      say(this.trouble, `This is not JSON yet: ${error.message}`);
      return;
    }
    this.draw(x);
    this.asked?.abort();
    this.asked = new AbortController();
    try {
      const prediction = await call("POST", `${address(this.name)}/predict`, { x, scores: true, why: true }, { signal: this.asked.signal });
      say(this.trouble, "");
      this.show(prediction, x);
    } catch (error) {
      if (error.name !== "AbortError") say(this.trouble, error.message);
    }
  }

  /** A square of numbers can be drawn on: the pointer adds ink, and removes it with the shift key. */
  draw(x) {
    if (!side(x)) {
      fill(this.canvasBox);
      this.canvas = null;
      return;
    }
    if (this.canvas) paint(this.canvas, x);
    else {
      this.canvas = picture(x, { size: 256, label: "The example as a picture, to draw on" });
      this.canvas.addEventListener("pointerdown", (event) => this.ink(event));
      this.canvas.addEventListener("pointermove", (event) => event.buttons && this.ink(event));
      fill(this.canvasBox, this.canvas, el("p", { class: "note" }, "Draw on it; hold Shift to erase. "),
        el("button", { type: "button", class: "quiet", onclick: () => this.put(x.map(() => 0)) }, "clear"));
    }
    this.x = x;
  }

  ink(event) {
    const root = side(this.x);
    const box = this.canvas.getBoundingClientRect();
    const [column, row] = [event.clientX - box.left, event.clientY - box.top].map((at) => Math.floor((at / box.width) * root));
    if (column < 0 || row < 0 || column >= root || row >= root) return;
    this.most = Math.max(this.most ?? 1, ...this.x);
    const fresh = [...this.x];
    fresh[row * root + column] = event.shiftKey ? 0 : this.most;
    this.put(fresh);
  }

  put(x) {
    this.most = Math.max(this.most ?? 1, ...(this.x ?? [1]));
    this.text.value = JSON.stringify(x);
    paint(this.canvas, x);
    this.x = x;
    this.typed();
  }

  show(prediction, x) {
    [this.prediction, this.predicted] = [prediction, x];
    const scores = prediction.scores.length === 1 ? [-prediction.scores[0], prediction.scores[0]] : prediction.scores;
    const [low, high] = [Math.min(...scores), Math.max(...scores)];
    this.rows = scores.map((score, i) => [this.classes?.[i] ?? i, score]);
    const ordered = [...this.rows].sort((a, b) => b[1] - a[1]).slice(0, 12);
    const notes = [];
    if (prediction.certain !== undefined) notes.push(prediction.certain ? "Every classifier that agrees with all examples predicts this label." : "Classifiers that agree with all examples predict different labels here.");
    if (prediction.ask !== undefined) notes.push(prediction.ask ? "The model would ask for this label." : "The model would not ask for this label.");
    fill(this.verdict, reasons(prediction.y, prediction.why, x), notes.length ? el("p", {}, notes.join(" ")) : null,
      barTable("Scores", ordered.map(([label, score]) => ({
        name: String(label),
        kind: label === prediction.y ? "for" : "rest",
        share: high > low ? Math.max(0.01, (score - low) / (high - low)) : 1,
        value: figure(score),
      }))),
      el("p", { class: "note" }, `After ${prediction.t.toLocaleString("en")} examples.`));
  }

  update() {}

  redraw() {
    if (this.canvas) paint(this.canvas, this.x);
    if (this.prediction) this.show(this.prediction, this.predicted);
  }

  export() {
    return { name: `${this.name}-scores`, header: ["label", "score"], rows: this.rows ?? [], pictures: picturesIn(this.element) };
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
