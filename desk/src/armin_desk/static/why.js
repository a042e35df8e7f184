// Where the person stands and why, and their own idea. Plain functions from data to elements.

import { h, s } from "./dom.js";
import { served } from "./plan.js";
import { parse } from "./numbers.js";
import { current, said, t } from "./words.js";

const WIDTH = 400;
const EDGE = 12;

// the range that blanks leave open, the score as a dot, the threshold as a line
function picture(standing, label) {
  const score = standing.submitted ?? standing.score;
  const points = [standing.low, standing.high, score, standing.threshold ?? score];
  const [least, most] = [Math.min(...points), Math.max(...points)];
  const x = (number) => EDGE + (WIDTH - 2 * EDGE) * (most > least ? (number - least) / (most - least) : 0.5);
  const level = (from, to, look) => s("line", { x1: x(from), x2: x(to), y1: 18, y2: 18, class: look });
  return s("svg", { class: "stand", role: "img", "aria-label": label, viewBox: `0 0 ${WIDTH} 36` },
    level(least, most, "stand-axis"),
    level(standing.low, standing.high, "stand-range"),
    standing.threshold === null ? null
      : s("line", { x1: x(standing.threshold), x2: x(standing.threshold), y1: 4, y2: 32, class: "stand-cut" }),
    s("circle", { cx: x(score), cy: 18, r: 7, class: "stand-score" }));
}

// why is null while it is loading, false if it failed
export function standCard(why) {
  if (!why) {
    return [h("h2", null, t("stand_title")), h("p", { class: why === null ? "hint waiting" : "hint" }, t(why === null ? "stand_wait" : "stand_fail"))];
  }
  const words = said(why);
  return [
    h("h2", null, t("stand_title")),
    picture(words.place, words.stand.join(" ")),
    words.stand.map((line) => h("p", null, line)),
    words.reasons.length ? h("h3", null, words.headline) : null,
    h("ol", { class: "weighed" }, words.reasons.map((reason) => h("li", null, reason.sentence))),
    words.notes.map((line) => h("p", { class: "hint" }, line)),
  ].flat().filter(Boolean);
}

// model: { features, memory, onTry }; memory: { which, text, found } is kept by whoever shows the card again; onTry(changes)
// gives a promise of the server's answer
export function ideaCard({ features, memory, onTry }) {
  // what a plan may change first: ideas are mostly about that
  const usable = features.filter((feature) => feature.kind !== "carried").sort((a, b) => Number(b.mutable) - Number(a.mutable));
  const which = h("select", { id: "idea-which" }, usable.map((feature) => h("option", { value: feature.name }, feature.label)));
  const place = h("div", { class: "entry" });
  const result = h("div", { id: "idea-result", role: "status" });
  const chosen = () => usable.find((feature) => feature.name === which.value);
  let value = null;
  const field = () => {
    const feature = chosen();
    value = feature.categories
      ? h("select", { id: "idea-value" }, feature.categories.map((one, i) => h("option", { value: String(i) }, one.label)))
      : h("input", { id: "idea-value", type: "text", inputmode: "decimal", autocomplete: "off" });
    place.replaceChildren(feature.categories ? h("span", { class: "pick" }, value) : value);
    value.addEventListener("input", () => { memory.text = value.value; });
  };
  which.addEventListener("change", () => { Object.assign(memory, { which: which.value, text: undefined }); field(); });
  if (memory.which) which.value = memory.which;
  field();
  if (memory.text !== undefined) value.value = memory.text;
  if (memory.found) result.append(...ideaResult(memory.found));
  const submit = async (event) => {
    event.preventDefault();
    const feature = chosen();
    const read = feature.categories ? null : parse(value.value, { language: current(), unit: feature.unit || "" });
    const given = feature.categories ? feature.categories[Number(value.value)].value : read.value;
    if (read && read.kind !== "number") {
      const unclear = t("unclear", { label: feature.label, text: value.value });
      result.replaceChildren(h("p", null, read.kind === "unclear" ? unclear : feature.errors.number));
      return;
    }
    result.replaceChildren(h("p", { class: "hint waiting" }, t("idea_wait")));
    try {
      memory.found = await onTry({ [feature.name]: given });
      result.replaceChildren(...ideaResult(memory.found));
    } catch (error) {
      if (error.name === "AbortError") return;
      result.replaceChildren(h("p", null, error.kind === "field" && error.detail ? served(error.detail) : t("idea_fail")));
    }
  };
  return [
    h("h2", null, t("idea_title")),
    h("p", { class: "hint" }, t("idea_text")),
    h("form", { class: "idea", autocomplete: "off", novalidate: true, on: { submit } },
      h("label", { for: "idea-which", class: "label" }, t("idea_which")), h("div", { class: "entry" }, h("span", { class: "pick" }, which)),
      h("label", { for: "idea-value", class: "label" }, t("idea_value")), place,
      h("button", { type: "submit", class: "second-button" }, t("idea_send"))),
    result,
  ];
}

function ideaResult(idea) {
  const words = said(idea);
  return [
    h("p", { class: "say" }, words.headline),
    words.lines.map((line) => h("p", null, line)),
    words.then ? h("p", null, words.then) : null,
    words.steps.length ? h("ol", null, words.steps.map((step) => h("li", null, step))) : null,
  ].flat().filter(Boolean);
}
