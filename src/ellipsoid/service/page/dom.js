// Make and change elements of the page. Whatever comes from the service becomes text, never markup.

/** An element: properties that begin with "on" are listeners, others attributes; children are elements or text. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  fill(made, ...children);
  return made;
}

/** Replace what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set the text of an element, if it changes. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Announce something to screen readers. */
export function announce(text) {
  document.getElementById("said").textContent = text;
}

/** A colour of the style sheet, as it is now. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
