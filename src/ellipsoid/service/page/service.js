// Calls of the service, with the token of this browser tab if it has one.

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const token = {
  get text() {
    return sessionStorage.getItem("token");
  },
  set text(value) {
    sessionStorage.setItem("token", value);
  },
};

/** A name for whoever labels in this tab, so that two tabs never get the same question. */
export function who() {
  let name = sessionStorage.getItem("who");
  if (!name) {
    name = `page-${crypto.getRandomValues(new Uint32Array(2)).join("")}`;
    sessionStorage.setItem("who", name);
  }
  return name;
}

export function headers(more = {}) {
  return token.text ? { ...more, authorization: `Bearer ${token.text}` } : more;
}

/** A call that answers JSON, or throws a Problem with the sentence of the service. */
export async function call(method, path, body, options = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: headers(body === undefined ? {} : { "content-type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
      ...options,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The service cannot be reached.");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, content.detail || `The service answered with status ${answer.status}.`);
  return content;
}

/** The URL of a model. */
export const address = (name) => `/v1/models/${encodeURIComponent(name)}`;
