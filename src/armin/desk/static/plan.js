// The answer itself: headline, plan, how sure, why not. Plain functions from data to elements.

import { dots, ofHundred } from "./chart.js";
import { capital, h } from "./dom.js";
import { changeSentence, current, figure, labelOf, percent, t, wanted } from "./words.js";

// words of the server: English, and marked as such on a page in another language
export const served = (text) => h("span", { lang: current() === "en" ? null : "en" }, text);

const LOOK = {
  plan: ["badgeProved", "good"], best_so_far: ["badgeSoFar", "care"], already_accepted: ["badgeAccepted", "good"],
  no_recourse: ["badgeNone", "care"], out_of_time: ["badgeTime", "care"],
};

export function headline(recourse) {
  const goal = wanted(recourse.desired);
  if (recourse.outcome === "already_accepted") return t("headAccepted");
  if (recourse.outcome === "no_recourse") return t("headNone", goal);
  if (recourse.outcome === "out_of_time") return t("headTime");
  const share = works(recourse);
  const full = share === null ? null : ofHundred(share);
  const cases = full === null ? "" : full === 100 ? t("casesAll") : t("casesSome", full);
  return t("headPlan", recourse.changes.length, goal, cases);
}

// the share of plausible cases for which it works, judged on fresh ones where there are any; null if all is known
function works(recourse) {
  const judged = recourse.blanks.length ? recourse.fresh || recourse.validity : null;
  return judged ? judged.share : null;
}

function badge(recourse, other) {
  const [word, look] = other ? ["badgeOther", "plain"] : LOOK[recourse.outcome];
  return h("span", { class: `badge ${look}` }, t(word));
}

function gapText(recourse) {
  const { gap } = recourse.proof;
  return gap > 0 && gap <= 1 ? percent(gap) : null;
}

function proofText(recourse, other, more) {
  if (other) return t("otherText", more);
  if (recourse.outcome === "plan") return t("provedText");
  return recourse.outcome === "best_so_far" ? t("soFarText", gapText(recourse)) : "";
}

// the certificate speaks of the cheapest plan, so it is not quoted for another one
function sureSentences(recourse, other) {
  const sentence = recourse.certificate && recourse.certificate.sentence;
  if (!recourse.blanks.length) return [t("sureAll")];
  if (sentence && !other && current() === "en") return [sentence];
  const lines = [];
  if (recourse.validity) lines.push(t("sureWays", percent(recourse.validity.share)));
  if (recourse.fresh) {
    const [low, high] = recourse.fresh.interval;
    lines.push(t("sureFresh", percent(recourse.fresh.share), percent(low), percent(high)));
  }
  if (!lines.length && sentence) lines.push(sentence);
  return lines;
}

function sure(recourse, other) {
  const share = works(recourse);
  const lines = sureSentences(recourse, other);
  if (!lines.length) return null;
  return h("div", { class: "sure" },
    share === null ? null : dots(share),
    h("div", null,
      h("h3", null, t("sureTitle")),
      lines.map((line) => h("p", null, line)),
    ));
}

function steps(recourse, onLock) {
  return h("ol", { class: "steps", "aria-label": t("planTitle") }, recourse.changes.map((change) => h("li", null,
    h("p", { class: "step-sentence" }, capital(changeSentence(change))),
    h("button", {
      type: "button", class: "lock-button", "aria-label": `${t("lockThis")}: ${labelOf(change)}`,
      on: { click: () => onLock(change.feature) },
    }, t("lockThis")),
  )));
}

// model: { recourse, other, more, onLock, onLetter, reference }
export function planCard({ recourse, other, more, onLock, onLetter, reference }) {
  const goal = wanted(recourse.desired);
  const cost = recourse.cost.value;
  const body = [];
  if (recourse.outcome === "already_accepted") {
    const share = recourse.validity && recourse.blanks.length ? recourse.validity.share : null;
    body.push(h("p", { class: "say" }, share === null ? t("acceptedSure", goal) : t("acceptedBlank", percent(share), goal)));
    if (recourse.blanks.length) body.push(sure(recourse, other));
  } else if (recourse.changes.length) {
    body.push(steps(recourse, onLock));
    body.push(h("p", { class: "proof" }, proofText(recourse, other, more)));
    body.push(sure(recourse, other));
  }
  return [
    h("div", { class: "badges" }, badge(recourse, other),
      recourse.changes.length && cost !== null
        ? h("span", { class: "badge plain", title: t("costText") }, t("costIs", figure(cost))) : null),
    h("h2", { id: "answer-title", tabindex: "-1" }, headline(recourse)),
    body,
    h("div", { class: "card-foot" },
      h("button", { type: "button", class: "second-button", on: { click: onLetter } }, t("letter")),
      reference ? h("span", { class: "hint reference" }, t("reference", reference)) : null),
  ];
}

// model: { recourse, locked, fixed, path, onUnlock, onSurest }
export function whyNot({ recourse, locked, fixed, path, onUnlock, onSurest }) {
  const title = (feature) => feature.label || feature.name;
  const asked = recourse.confidence.asked;
  const unsure = recourse.blanks.length > 0 && asked !== null;
  const points = path ? path.points : [];
  const most = points.length ? points[points.length - 1].confidence : null;
  return [
    h("h3", null, t("whyTitle")),
    h("ul", { class: "reasons" },
      h("li", null, t("whyProved")),
      locked.length ? h("li", null, t("whyLocked", locked.map(title).join(", "))) : null,
      fixed.length ? h("li", null, t("whyFixed", fixed.map(title).join(", "))) : null,
      unsure ? h("li", null, t("whyBlank", percent(asked)), " ", most ? t("whyReach", percent(most)) : null) : null,
    ),
    h("h3", null, t("whyNext")),
    h("ul", { class: "next" },
      locked.map((feature) => h("li", null,
        h("button", { type: "button", class: "quiet-button", on: { click: () => onUnlock(feature.name) } },
          t("unlock", title(feature))))),
      most && unsure ? h("li", null,
        h("button", { type: "button", class: "quiet-button", on: { click: onSurest } },
          t("showSurest", percent(most)))) : null,
      unsure ? h("li", null, t("tellMore")) : null,
      h("li", null, t("askHuman")),
    ),
  ];
}

export function outOfTime({ recourse, onAgain }) {
  const { bound } = recourse.proof;
  return [
    h("p", null, t("timeText")),
    bound ? h("p", null, t("timeBound", figure(bound))) : null,
    h("button", { type: "button", class: "second-button", on: { click: onAgain } }, t("again")),
  ];
}

// each blank: how it was treated, and whether telling would help; ask is null while it is loading, false if it failed
export function blanksCard({ recourse, ask, onTell, title }) {
  const advice = new Map((ask ? ask.questions || [] : []).map((question) => [question.feature, question]));
  const mode = { freeze: "modeFreeze", shift: "modeShift", reach: "modeReach" };
  return [
    h("h2", null, t("blanksTitle")),
    h("p", { class: "hint" }, t("blanksText"), " ", recourse.conditioned === null ? null : t("blanksKnown")),
    ask && ask.sentence && current() === "en" && recourse.blanks.length > 1 ? h("p", null, served(ask.sentence)) : null,
    h("ul", { class: "blanks" }, recourse.blanks.map((blank) => {
      const question = advice.get(blank.feature);
      return h("li", { class: question && question.matters && ask.best !== null ? "matters" : null },
        h("div", { class: "blank-head" },
          h("strong", null, title(blank.feature)),
          question ? adviceBadge(question, ask) : null),
        question ? h("p", null, questionText(question, title(blank.feature), ask.act_now)) : null,
        h("p", { class: "hint" }, t(mode[blank.mode] || "modeFreeze")),
        question && question.matters ? h("button", {
          type: "button", class: "link-button", on: { click: () => onTell(blank.feature) },
        }, t("tell", title(blank.feature))) : null);
    })),
    ask === null ? h("p", { class: "hint waiting" }, t("askWait")) : null,
    ask === false ? h("p", { class: "hint" }, t("askFail")) : null,
  ];
}

// telling may change the plan and still not be worth it; then no blank is named best
function adviceBadge(question, ask) {
  const word = question.matters ? (ask.best === null ? "askMaybe" : "askYes") : "askNo";
  return h("span", { class: `badge ${word === "askYes" ? "care" : "plain"}` }, t(word));
}

// the server's sentence, or the gist of it in the page's language
function questionText(question, label, now) {
  if (current() === "en") return question.sentence;
  if (!question.matters) return t("askNoSentence", label);
  if (question.expected_cost === null) return served(question.sentence);
  const cost = figure(question.expected_cost);
  return now === null ? t("askOpens", label, cost) : t("askSaves", label, cost, figure(now));
}
