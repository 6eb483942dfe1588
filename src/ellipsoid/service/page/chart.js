// Charts of curves over the number of examples, drawn by uPlot in the colours of the page, with words for screen readers.

import { colour, el } from "./dom.js";
import { brief, figure } from "./format.js";

const SMALL = 480;

/**
 * A chart. `series` are {label, colour, width, dash, fill}; `bands` pairs of series to be shaded between;
 * `values` formats the numbers of the axis; `describe` gives the words for a screen reader.
 */
export class Chart {
  constructor({ series, height = 220, bands = [], values = figure, describe = () => "", log = false, small = false, marks = () => [] }) {
    Object.assign(this, { series, height, bands, values, describe, log, small, marks });
    this.data = [[], ...series.map(() => [])];
    this.box = el("div", { class: small ? "chart small" : "chart" });
    this.words = el("p", { class: "unseen" });
    this.legend = small ? null : el("p", { class: "legend", "aria-hidden": "true" }, series.map((each) => {
      const key = el("span", { class: `key ${each.dash ? "dashed" : ""}` });
      key.style.setProperty("--of", `var(--${each.colour})`);
      return el("span", {}, key, each.label);
    }));
    this.box.append(this.words);
    this.element = el("div", { class: "chart-frame" }, this.legend, this.box);
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.box);
  }

  /** Show numbers: [x, ...ys]. */
  show(data) {
    this.data = data;
    this.words.textContent = this.describe(data);
    if (this.plot) this.plot.setData(this.log ? positive(data) : data);
    else this.fit();
  }

  /** Draw again, in other colours or on another scale. */
  redraw(log = this.log) {
    this.log = log;
    this.plot?.destroy();
    this.plot = null;
    this.fit();
  }

  fit() {
    const width = Math.floor(this.box.clientWidth);
    if (!width) return;
    if (this.plot) {
      if (this.plot.width !== width) this.plot.setSize({ width, height: this.height });
    } else this.make(width);
  }

  make(width) {
    const [ink, grid] = [colour("soft"), colour("grid")];
    const font = `${this.small ? 11 : 12}px system-ui, sans-serif`;
    const axis = { stroke: ink, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    const options = {
      width,
      height: this.height,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { show: !this.small, y: false, points: { size: 6 }, drag: { x: !this.small, y: false } },
      scales: { x: { time: false, range: (_, low, high) => this.span(low, high) }, y: this.log ? { distr: 3 } : { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.06] } },
      axes: [
        { ...axis, size: 26, gap: 4, space: width < SMALL ? 70 : 90, values: (_, splits) => splits.map(brief) },
        { ...axis, size: this.small ? 40 : 52, gap: 4, space: 32, values: (_, splits) => splits.map((v) => (v === null ? "" : this.values(v))) },
      ],
      series: [{}, ...this.series.map((each) => ({
        label: each.label,
        stroke: colour(each.colour),
        width: each.width ?? 1.8,
        dash: each.dash,
        spanGaps: false,
        points: { show: false },
      }))],
      bands: this.bands.map((pair) => ({ series: pair, fill: colour("band") })),
      hooks: { draw: [(plot) => this.mark(plot)], setCursor: [(plot) => this.tip(plot)] },
    };
    this.plot = new window.uPlot(options, this.log ? positive(this.data) : this.data, this.box);
    if (!this.small) {
      this.tipBox = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
      this.plot.over.append(this.tipBox);
    }
  }

  /** The range of x: all points and all marks, of which one may lie before the first point that was kept. */
  span(low, high) {
    const places = [low, high, ...this.marks()].filter((t) => t !== null);
    return low === null ? [null, null] : [Math.min(...places), Math.max(...places)];
  }

  mark(plot) {
    const pen = plot.ctx;
    pen.save();
    pen.strokeStyle = colour("alarm");
    pen.setLineDash([4, 4]);
    for (const t of this.marks()) {
      const x = plot.valToPos(t, "x", true);
      if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) continue;
      pen.beginPath();
      pen.moveTo(x, plot.bbox.top);
      pen.lineTo(x, plot.bbox.top + plot.bbox.height);
      pen.stroke();
    }
    pen.restore();
  }

  tip(plot) {
    const { idx, left } = plot.cursor;
    if (!this.tipBox) return;
    this.tipBox.hidden = idx === null || idx === undefined || left < 0;
    if (this.tipBox.hidden) return;
    const lines = this.series.map((each, i) => `${each.label}: ${this.values(this.data[i + 1][idx])}`);
    this.tipBox.textContent = [`after ${brief(this.data[0][idx])}`, ...lines].join("\n");
    this.tipBox.classList.toggle("left", left > plot.over.clientWidth / 2);
  }

  get canvas() {
    return this.plot?.ctx.canvas;
  }

  destroy() {
    this.observer.disconnect();
    this.plot?.destroy();
  }
}

/** The data without zeros, which a logarithmic scale cannot show. */
const positive = (data) => [data[0], ...data.slice(1).map((ys) => ys.map((y) => (y > 0 ? y : null)))];

/** A series for each of some learners; the first one is the champion or the chosen one. */
export const seriesOf = (learners) =>
  learners.map((each, i) => ({ label: each.name, colour: i ? `curve-${1 + (i % 4)}` : "curve-0", width: i ? 1 : 2.2 }));

/** Several curves, each with its own x, on one x: where a curve has no point it keeps its last value. */
export function aligned(curves) {
  const xs = [...new Set(curves.flatMap((curve) => curve.t))].sort((a, b) => a - b);
  const columns = curves.map((curve) => {
    const found = [];
    let at = -1;
    for (const x of xs) {
      while (at + 1 < curve.t.length && curve.t[at + 1] <= x) at += 1;
      found.push(at < 0 || x > curve.t.at(-1) ? null : curve.y[at]);
    }
    return found;
  });
  return [xs, ...columns];
}
