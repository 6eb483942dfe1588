// The state of all models, which events keep up to date and views show.

// The most points of a curve; beyond them every second one is dropped.
const MOST_POINTS = 400;
const RATE_SECONDS = 6;

export const state = { models: new Map(), role: "read", who: "", version: "", known: false };

const ROLES = ["read", "predict", "label", "learn", "admin"];

/** May this user do what needs this role? */
export const may = (role) => ROLES.indexOf(state.role) >= ROLES.indexOf(role);

// What a point of the history holds, in this order.
export const COLUMNS = ["t", "time", "errors", "windowed", "mistakes", "updates", "bound", "longest", "second"];

/** A number of the newest point of a learner's history, whose counts and bound are of the same moment. */
export const last = (learner, column) => learner.last?.[COLUMNS.indexOf(column)] ?? null;

/** The learner that answers predictions. */
export const champion = (model) => model.learners.find((each) => each.name === model.champion) ?? model.learners[0];

/** Update the state by an event. */
export function take(kind, data) {
  if (kind === "all") {
    const before = state.models;
    state.models = new Map();
    Object.assign(state, { role: data.role, who: data.who, version: data.version, known: true });
    for (const model of data.models) {
      const known = { ...model, trail: before.get(model.name)?.trail ?? [] };
      for (const learner of known.learners) learner.curve = { t: [...learner.curve.t], error: [...learner.curve.error] };
      for (const learner of known.learners) grow(learner.curve, learner);
      state.models.set(model.name, mark(known, data.time));
    }
    return;
  }
  for (const model of data.models) {
    const before = state.models.get(model.name);
    for (const learner of model.learners) {
      learner.curve = before?.learners.find((each) => each.name === learner.name)?.curve ?? { t: [], error: [] };
      grow(learner.curve, learner);
    }
    state.models.set(model.name, mark({ ...model, trail: before?.trail ?? [] }, data.time));
  }
}

function grow(curve, learner) {
  if (learner.error === null || !(learner.t > (curve.t.at(-1) ?? 0))) return;
  // Points nearer than a pixel take the place of the last one.
  const step = curve.t.length > MOST_POINTS / 2 ? (curve.t.at(-1) - curve.t[0]) / MOST_POINTS : 0;
  if (curve.t.length > 1 && learner.t - curve.t.at(-2) < step) {
    curve.t.pop();
    curve.error.pop();
  }
  curve.t.push(learner.t);
  curve.error.push(learner.error);
  if (curve.t.length > MOST_POINTS) {
    const keep = (_, i) => i % 2 === 0 || i === curve.t.length - 1;
    [curve.t, curve.error] = [curve.t.filter(keep), curve.error.filter(keep)];
  }
}

function mark(model, time) {
  model.trail = [...model.trail.filter((each) => time - each.time < RATE_SECONDS && each.t <= model.journal), { time, t: model.journal }];
  return model;
}

/** Is a learner further behind the journal than a second? */
export const behind = (model, learner) => learner.lag > Math.max(5, speed(model));

/** Examples a second, of the last seconds. */
export function speed(model) {
  const [first, last] = [model.trail[0], model.trail.at(-1)];
  const quiet = Date.now() / 1000 - last.time > RATE_SECONDS;
  return quiet || model.trail.length < 2 || last.time <= first.time ? 0 : (last.t - first.t) / (last.time - first.time);
}
