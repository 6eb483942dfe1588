// A square of numbers as a picture: ink on paper, or two colours for numbers on both sides of zero.

import { colour, el } from "./dom.js";

/** The side of the square that so many numbers make, 0 if they make none worth drawing. */
export function side(numbers) {
  if (!Array.isArray(numbers)) return 0;
  const root = Math.round(Math.sqrt(numbers.length));
  return root >= 4 && root <= 64 && root * root === numbers.length ? root : 0;
}

/** A canvas with the picture; `signed` pictures have two colours. */
export function picture(numbers, { size = 224, signed = false, label = "The example as a picture" } = {}) {
  const root = side(numbers);
  const canvas = el("canvas", { class: "picture", role: "img", "aria-label": label, width: size, height: size });
  canvas.style.width = `${size}px`;
  paint(canvas, numbers, root, signed);
  return canvas;
}

/** Paint numbers on a canvas. */
export function paint(canvas, numbers, root = side(numbers), signed = false) {
  const pen = canvas.getContext("2d");
  const cell = canvas.width / root;
  const largest = Math.max(...numbers.map(Math.abs)) || 1;
  pen.fillStyle = colour("sheet");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  numbers.forEach((value, i) => {
    if (!value) return;
    pen.globalAlpha = Math.min(1, Math.abs(value) / largest);
    pen.fillStyle = colour(signed ? (value > 0 ? "curve-0" : "curve-1") : "ink");
    const [x, y] = [(i % root) * cell, Math.floor(i / root) * cell];
    pen.fillRect(Math.floor(x), Math.floor(y), Math.ceil(cell), Math.ceil(cell));
  });
  pen.globalAlpha = 1;
}
