// The picture of the shadow of the ellipsoid: as it is now, inside the outlines of what it was before.

import { colour, el } from "./dom.js";
import { count, figure } from "./format.js";

const GHOSTS = 7;

export class ShadowPicture {
  constructor() {
    this.canvas = el("canvas");
    this.words = el("p", { class: "note" });
    this.element = el("div", { class: "shadow" }, this.canvas, this.words);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
    this.trail = [];
  }

  /** `shadow` is that of the portrait; `trail` are {t, longest, second}, oldest first. */
  show(shadow, trail) {
    [this.shadow, this.trail] = [shadow, trail.filter((each) => each.longest > 0)];
    this.draw();
  }

  /** The points of the trail whose outlines are drawn, each at about half as many examples as the next. */
  ghosts() {
    const found = [];
    let t = this.trail.at(-1)?.t ?? 0;
    for (let i = 0; i < GHOSTS && t >= 1; i += 1) {
      t /= 2;
      const at = this.trail.findLast((each) => each.t <= t) ?? this.trail[0];
      if (at && found[0] !== at) found.unshift(at);
    }
    return found;
  }

  draw() {
    const width = this.element.clientWidth;
    const height = Math.min(300, Math.max(200, Math.round(width * 0.62)));
    if (!width || !this.shadow) return;
    const sharp = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * sharp, height: height * sharp });
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const ghosts = this.ghosts();
    const now = this.shadow;
    const widest = Math.max(now.longest, ...ghosts.map((each) => each.longest));
    const tallest = Math.max(now.second, ...ghosts.map((each) => each.second));
    const scale = Math.min((width / 2 - 16) / widest, (height / 2 - 22) / tallest);
    pen.translate(width / 2, height / 2);
    pen.strokeStyle = colour("grid");
    line(pen, -width / 2, 0, width / 2, 0);
    line(pen, 0, -height / 2, 0, height / 2);
    pen.font = "11px system-ui, sans-serif";
    ghosts.forEach((each, i) => {
      pen.globalAlpha = 0.25 + (0.5 * (i + 1)) / (ghosts.length + 1);
      ring(pen, each, scale, colour("curve-0"), null);
      pen.globalAlpha = 1;
      if (each.second * scale > 24 && (i === 0 || ghosts[i - 1].second * scale - each.second * scale > 14)) {
        pen.fillStyle = colour("soft");
        pen.fillText(`after ${count(each.t)}`, 4, -each.second * scale - 3);
      }
    });
    ring(pen, now, scale, colour("curve-1"), colour("band"));
    pen.fillStyle = colour("curve-1");
    pen.beginPath();
    pen.arc(0, 0, 2.5, 0, 7);
    pen.fill();
    const first = this.trail[0];
    const shrunk = first && first.longest > 0 ? ` It was ${figure(first.longest)} by ${figure(first.second)} after ${count(first.t)}.` : "";
    const text = `Half-lengths ${figure(now.longest)} and ${figure(now.second)}.${shrunk}`;
    // Screen readers learn of the picture only when it is drawn.
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `Shadow of the ellipsoid on its two longest axes. ${text}`);
    this.words.textContent = text;
  }

  destroy() {
    this.observer.disconnect();
  }
}

function line(pen, x0, y0, x1, y1) {
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function ring(pen, { longest, second }, scale, stroke, inside) {
  pen.beginPath();
  pen.ellipse(0, 0, longest * scale, Math.max(1, second * scale), 0, 0, 2 * Math.PI);
  if (inside) {
    pen.fillStyle = inside;
    pen.fill();
  }
  pen.strokeStyle = stroke;
  pen.lineWidth = inside ? 2.2 : 1.2;
  pen.stroke();
}
