// Events of the service, from /v1/events: read by fetch, so that a token can be sent, and resumed where they broke off.

import { headers } from "./service.js";

// The service sends something at least every five seconds.
const SILENCE = 12000;
const WAITS = [300, 700, 1500, 3000];

export class Events {
  /** `received(kind, data)` gets each event, `connection(state, detail)` "live", "lost" or "refused". */
  constructor(received, connection) {
    this.received = received;
    this.connection = connection;
    this.last = "";
    this.tries = 0;
  }

  start() {
    this.read();
    // When the network or the user comes back, try again at once.
    addEventListener("online", () => this.again());
    document.addEventListener("visibilitychange", () => document.hidden || this.again());
  }

  again() {
    if (this.waiting) {
      clearTimeout(this.waiting);
      this.waiting = null;
      this.read();
    }
  }

  async read() {
    const stop = new AbortController();
    const watch = { timer: null };
    const heard = () => {
      clearTimeout(watch.timer);
      watch.timer = setTimeout(() => stop.abort(), SILENCE);
    };
    try {
      heard();
      const answer = await fetch("/v1/events", {
        headers: headers(this.last ? { "last-event-id": this.last } : {}),
        signal: stop.signal,
        cache: "no-store",
      });
      if (answer.status === 401 || answer.status === 403) {
        const problem = await answer.json().catch(() => ({}));
        this.connection("refused", problem.detail || "");
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      this.tries = 0;
      this.connection("live", "");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heard();
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        parts.forEach((part) => this.take(part));
      }
    } catch {
      // Whatever the reason, the connection is lost, and is tried again.
    } finally {
      clearTimeout(watch.timer);
      stop.abort();
    }
    this.connection("lost", "");
    const wait = WAITS[Math.min(this.tries, WAITS.length - 1)];
    this.tries += 1;
    this.waiting = setTimeout(() => this.again(), wait);
  }

  take(text) {
    const fields = {};
    for (const line of text.split("\n")) {
      const at = line.indexOf(":");
      if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
    }
    if (fields.data === undefined) return;
    this.last = fields.id ?? this.last;
    this.received(fields.event, JSON.parse(fields.data));
  }
}
