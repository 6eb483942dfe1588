// Save a view as files: its numbers as CSV, its pictures as one PNG.

import { colour, el } from "./dom.js";

const WIDTH = 640;

/** Offer a file to be saved. */
function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  // A spreadsheet must not take a label for a formula.
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The text of a CSV file. */
export const csv = (header, rows) => [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

/** Save the numbers of a view. */
export function saveCsv({ name, header, rows }) {
  save(new Blob([csv(header, rows)], { type: "text/csv" }), `${name}.csv`);
}

/** The pictures in an element, with their titles. */
export const picturesIn = (element) => [...element.querySelectorAll("canvas")].map((canvas) => ({ title: canvas.getAttribute("aria-label"), canvas }));

/** Save the pictures of a view, one below another, two in a row where there are many. */
export function savePng({ name, pictures }) {
  const drawn = pictures.filter((each) => each.canvas?.width);
  if (!drawn.length) return;
  const columns = drawn.length > 3 ? 2 : 1;
  const sizes = drawn.map(({ canvas }) => {
    const scale = Math.min(WIDTH / canvas.width, 1);
    return [canvas.width * scale, canvas.height * scale];
  });
  const rows = [];
  for (let i = 0; i < drawn.length; i += columns) rows.push(Math.max(...sizes.slice(i, i + columns).map((size) => size[1])) + 44);
  const sheet = el("canvas", { width: columns * (WIDTH + 24) + 24, height: rows.reduce((a, b) => a + b, 24) });
  const pen = sheet.getContext("2d");
  pen.fillStyle = colour("paper");
  pen.fillRect(0, 0, sheet.width, sheet.height);
  pen.fillStyle = colour("ink");
  pen.font = "600 16px system-ui, sans-serif";
  let y = 24;
  drawn.forEach(({ title, canvas }, i) => {
    const x = 24 + (i % columns) * (WIDTH + 24);
    pen.fillText(title, x, y + 14);
    pen.drawImage(canvas, x, y + 24, ...sizes[i]);
    if (i % columns === columns - 1) y += rows[Math.floor(i / columns)];
  });
  sheet.toBlob((blob) => save(blob, `${name}.png`), "image/png");
}
