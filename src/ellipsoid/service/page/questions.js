// The view "Questions": one question of a model at a time, for people who answer many: by keys, without waiting, with undo.

import { Answers } from "./answers.js";
import { announce, el, fill, say } from "./dom.js";
import { example } from "./example.js";
import { picturesIn } from "./export.js";
import { count, percent } from "./format.js";
import { reasons } from "./reasons.js";
import { address, call } from "./service.js";
import { champion, may, state } from "./state.js";

const KEYED = 9;

/** How much room the button of a label needs. */
const size = (label) => (String(label).length > 40 ? "longest" : String(label).length > 10 ? "long" : "");

export class Questions {
  constructor(name) {
    this.name = name;
    this.title = `Questions of ${name}`;
    this.labels = [];
    this.facts = el("p", { class: "tally" });
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.stage = el("div", { class: "stage" }, el("p", { class: "note" }, "Looking for a question …"));
    this.choices = el("div", { class: "choices", role: "group", "aria-label": "Labels" });
    this.filter = el("input", { type: "search", placeholder: "other label", "aria-label": "Find or enter a label", oninput: () => this.offer(), onkeydown: (event) => this.enter(event) });
    this.skipButton = el("button", { type: "button", "aria-keyshortcuts": "s", onclick: () => this.skip() }, el("kbd", {}, "s"), " skip");
    this.undoButton = el("button", { type: "button", "aria-keyshortcuts": "u", onclick: () => this.undo() }, el("kbd", {}, "u"), " undo");
    this.last = el("span", { class: "note" });
    this.element = el("div", { class: "questions" }, el("h1", {}, "Questions of ", el("span", { class: "label" }, name)), this.facts, this.trouble,
      this.stage, this.choices, el("div", { class: "actions" }, this.skipButton, this.undoButton, this.filter, this.last));
    if (!may("label")) {
      fill(this.stage, el("p", {}, "Your token may read but not label. Ask for a token with the role label."));
      this.choices.hidden = true;
      return;
    }
    this.answers = new Answers(name, () => this.show(), (error) => say(this.trouble, error ? error.message : ""));
    this.load();
    this.timer = setInterval(() => this.labels.length || this.load(), 2000);
  }

  /** The labels to choose from. */
  load() {
    call("GET", address(this.name)).then(({ classes }) => {
      this.labels = [...classes].sort((a, b) => (typeof a === "number" ? a - b : a.localeCompare(b)));
      this.offer();
      say(this.trouble, "");
    }, (error) => say(this.trouble, error.message));
  }

  /** The key of a label: the label itself where all labels are digits, else its place. */
  keyOf(label, place) {
    const digits = this.labels.every((each) => /^\d$/.test(String(each)));
    return digits ? String(label) : place < KEYED ? String(place + 1) : "";
  }

  offer() {
    const wanted = this.filter.value.trim().toLowerCase();
    const shown = this.labels.map((label, place) => ({ label, key: this.keyOf(label, place) }))
      .filter((each) => !wanted || String(each.label).toLowerCase().includes(wanted));
    this.shown = shown;
    fill(this.choices, shown.slice(0, 60).map(({ label, key }) => el("button", { type: "button", class: `choice ${size(label)}`, "aria-keyshortcuts": key || null, onclick: () => this.give(label) },
      key && key !== String(label) ? el("kbd", {}, key) : null, el("span", {}, String(label)))));
  }

  enter(event) {
    if (event.key !== "Enter" || !this.answers?.question) return;
    const typed = this.filter.value.trim();
    const found = this.shown.find((each) => String(each.label) === typed) ?? this.shown[0];
    const label = found?.label ?? (typeof this.labels[0] === "number" ? Number(typed) : typed);
    if (typed === "" || Number.isNaN(label)) return;
    this.filter.value = "";
    this.give(label);
    this.offer();
    this.filter.blur();
  }

  key(event) {
    if (!this.answers) return false;
    const found = this.labels.findIndex((label, place) => this.keyOf(label, place) === event.key);
    if (found >= 0) this.give(this.labels[found]);
    else if (event.key === "s") this.skip();
    else if (event.key === "u") this.undo();
    else return false;
    return true;
  }

  give(label) {
    if (!this.answers.question) return;
    say(this.last, `${label} will be sent in a moment`);
    if (!this.labels.some((each) => each === label)) this.labels.push(label);
    this.answers.answer(label);
  }

  skip() {
    if (this.answers.question) say(this.last, "skipped");
    this.answers.skip();
  }

  undo() {
    const one = this.answers.undo();
    say(this.last, one ? `${one.label} was undone` : "nothing to undo: the last answer is already learned");
  }

  show() {
    const question = this.answers.question;
    this.update();
    if (question === this.shownQuestion && question) return;
    this.shownQuestion = question;
    if (!question) {
      fill(this.stage, el("p", { class: "note" }, "No question at the moment. The next one appears by itself."));
      return;
    }
    fill(this.stage, el("div", { class: "exhibit" }, example(question.x)), reasons(question.predicted, question.why, question.x));
    announce(`Question. The model says ${question.predicted}.`);
  }

  update() {
    if (!this.answers) return;
    const model = state.models.get(this.name);
    this.undoButton.disabled = this.answers.held.length === 0;
    this.skipButton.disabled = !this.answers.question;
    if (!model) return;
    const sent = this.answers.given.length;
    const saved = model.asked + model.saved;
    const share = saved ? `, ${percent(model.saved / saved)} of ${count(saved)} examples` : "";
    fill(this.facts, el("b", {}, count(sent)), " answers given here, ", el("b", {}, count(model.answered)), " in all; ",
      el("b", { class: "saved" }, count(model.saved)),
      ` labels saved${share}; ${count(model.waiting)} kept; the model has learned `,
      el("b", { class: "learned" }, count(champion(model).t)), " examples.");
  }

  redraw() {
    this.shownQuestion = null;
    if (this.answers) this.show();
  }

  export() {
    const rows = (this.answers?.given ?? []).map((one) => [one.question.id, one.label, one.question.predicted, one.question.doubt, one.time.toISOString()]);
    return { name: `${this.name}-answers`, header: ["id", "label", "predicted", "doubt", "time"], rows, pictures: picturesIn(this.stage) };
  }

  destroy() {
    clearInterval(this.timer);
    this.answers?.close();
  }
}
