// Questions fetched ahead, and answers on their way: an answer is held back for a few seconds so that it can be undone,
// because what was sent once stays in the journal and is learned.

import { address, call, headers, who } from "./service.js";

export const HELD_SECONDS = 4;
const IN_HAND = 4;
// A skipped question may be shown again after so many others were skipped.
const SKIPPED = 50;

export class Answers {
  /** `changed()` is called when there is something else to show, `failed(error)` with what went wrong, or null. */
  constructor(model, changed, failed) {
    Object.assign(this, { model, changed, failed });
    this.inHand = [];
    this.held = [];
    // Answers that the service has not accepted yet; they are still sent after the view is closed.
    this.unsent = new Set();
    this.skipped = [];
    this.done = new Set();
    this.given = [];
    this.waiting = null;
    this.leave = () => this.sendAll(true);
    addEventListener("pagehide", this.leave);
    this.timer = setInterval(() => this.inHand.length || this.fetchMore(), 2000);
    this.fetchMore();
  }

  get question() {
    return this.inHand[0];
  }

  async fetchMore() {
    if (this.fetching || this.closed) return;
    this.fetching = true;
    const query = new URLSearchParams({ limit: String(IN_HAND + this.held.length + this.inHand.length), who: who() });
    for (const id of this.skipped) query.append("skip", id);
    try {
      const { questions, waiting } = await call("GET", `${address(this.model)}/questions?${query}`);
      this.waiting = waiting;
      const known = new Set([...this.inHand.map((each) => each.id), ...this.done, ...this.skipped]);
      const was = this.question;
      this.inHand.push(...questions.filter((each) => !known.has(each.id)));
      this.failed(null);
      if (this.question !== was || !was) this.changed();
    } catch (error) {
      this.failed(error);
    }
    this.fetching = false;
  }

  /** Give the answer to the question that is shown. */
  answer(label) {
    const question = this.inHand.shift();
    if (!question) return;
    const one = { question, label, time: new Date() };
    this.done.add(question.id);
    one.timer = setTimeout(() => this.send(one), 1000 * HELD_SECONDS);
    this.held.push(one);
    this.next();
  }

  skip() {
    const question = this.inHand.shift();
    if (!question) return;
    this.skipped = [...this.skipped, question.id].slice(-SKIPPED);
    this.next();
  }

  /** Undo the last answer, if it was not sent yet; returns it. */
  undo() {
    const one = this.held.pop();
    if (!one) return null;
    clearTimeout(one.timer);
    this.done.delete(one.question.id);
    this.inHand.unshift(one.question);
    this.changed();
    return one;
  }

  next() {
    this.changed();
    if (this.inHand.length < IN_HAND / 2) this.fetchMore();
  }

  async send(one, tries = 0) {
    this.held = this.held.filter((each) => each !== one);
    this.unsent.add(one);
    try {
      await call("POST", `${address(this.model)}/labels`, { id: one.question.id, y: one.label });
      this.given.push(one);
      this.failed(null);
      this.changed();
    } catch (error) {
      this.failed(error);
      // While the service is away, try again; when it refuses the answer, the question may be shown again.
      if (error.status === 0 || error.status === 429 || error.status >= 500) {
        one.timer = setTimeout(() => this.send(one, tries + 1), Math.min(10000, 1000 * 2 ** tries));
        return;
      }
      this.done.delete(one.question.id);
    }
    this.unsent.delete(one);
    this.letGo();
  }

  /** Send what is held back; when the page is left, also what is being sent. */
  sendAll(leaving = false) {
    for (const one of [...this.held.splice(0), ...(leaving ? this.unsent : [])]) {
      clearTimeout(one.timer);
      if (leaving) {
        fetch(`${address(this.model)}/labels`, {
          method: "POST",
          keepalive: true,
          headers: headers({ "content-type": "application/json" }),
          body: JSON.stringify({ id: one.question.id, y: one.label }),
        });
      } else this.send(one);
    }
  }

  close() {
    clearInterval(this.timer);
    this.sendAll();
    this.closed = true;
    this.letGo();
  }

  /** When a closed view has nothing left to send, stop listening for the page being left. */
  letGo() {
    if (this.closed && !this.unsent.size) removeEventListener("pagehide", this.leave);
  }
}
