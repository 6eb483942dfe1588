// Numbers and labels as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count: 12,345. */
export const count = (n) => (n === null || n === undefined ? "–" : whole.format(n));

/** A count where there is little room: 12.3K. */
export const brief = (n) => (n === null || n === undefined ? "–" : short.format(n));

/** A share as per cent: 2.3 %. */
export const percent = (share) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0)}\u00a0%`;

/** A number with three figures. */
export function figure(n) {
  if (n === null || n === undefined) return "–";
  const size = Math.abs(n);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return n.toExponential(2);
  return String(Number(n.toPrecision(3)));
}

/** How fast: 20 /s. */
export const rate = (perSecond) => `${perSecond >= 100 ? brief(perSecond) : figure(perSecond)} /s`;
