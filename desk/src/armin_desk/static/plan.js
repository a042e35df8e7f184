// The answer itself: headline, plan, how sure, why not. Plain functions from data to elements.

import { dots } from "./chart.js";
import { h } from "./dom.js";
import { said, t } from "./words.js";

// words of the server about a request: English
export const served = (text) => h("span", { lang: "en" }, text);

const LOOK = {
  plan: ["badge_proved", "good"], "plan within": ["badge_within", "good"], "plan list": ["badge_list", "good"],
  best_so_far: ["badge_so_far", "care"], already_accepted: ["badge_accepted", "good"],
  falls_short: ["badge_short", "care"], tell: ["badge_tell", "care"], no_recourse: ["badge_none", "care"],
  "no_recourse list": ["badge_none_list", "care"], out_of_time: ["badge_time", "care"],
};

function badge(recourse, other) {
  const [word, look] = other ? ["badge_other", "plain"] : LOOK[`${recourse.outcome} ${recourse.proof.claim}`] ?? LOOK[recourse.outcome];
  return h("span", { class: `badge ${look}` }, t(word));
}

function sure(recourse) {
  const { sure: lines, full, dots: text } = said(recourse);
  if (!lines.length) return null;
  return h("div", { class: "sure" },
    full === null ? null : dots(full, text),
    h("div", null,
      h("h3", null, t("sure_title")),
      lines.map((line) => h("p", null, line)),
    ));
}

function steps(recourse, onLock, title, hard) {
  return h("ol", { class: "steps", "aria-label": t("plan_title") }, recourse.changes.map((change, i) => h("li", null,
    h("p", { class: "step-sentence" }, said(recourse).changes[i]),
    h("div", { class: "step-tools" },
      hardness(change.feature, hard, title),
      h("button", {
        type: "button", class: "lock-button", "aria-label": `${t("lock_this")}: ${title(change.feature)}`,
        on: { click: () => onLock(change.feature) },
      }, t("lock_this"))),
  )));
}

// how hard a change is for this person; the plan follows
function hardness(name, { of, onHard }, title) {
  const select = h("select", {
    class: "hardness", autocomplete: "off", "aria-label": `${t("hard_label")} ${title(name)}`, on: { change: () => onHard(name, select.value) },
  }, [["easy", "hard_easy"], ["usual", "hard_usual"], ["hard", "hard_hard"], ["very hard", "hard_very"]]
    .map(([value, word]) => h("option", { value }, t(word))));
  select.value = of(name);
  return h("label", { class: "hard" }, h("span", { class: "hint" }, t("hard_label")), select);
}

// for those who want to know: costs are numbers without a unit
function numbers(recourse) {
  const { cost } = said(recourse);
  if (!cost || !recourse.changes.length) return null;
  return h("details", { class: "numbers" }, h("summary", null, t("numbers_title")),
    h("p", { class: "hint" }, cost, ". ", t("cost_text")));
}

// model: title(name) is what a column is called; hard: { of(name), onHard(name, how) }
export function planCard({ recourse, other, title, hard, onLock, onLetter, onCopy, onSave, onTable, reference }) {
  const words = said(recourse);
  const body = [];
  if (recourse.outcome === "already_accepted" || recourse.outcome === "tell") {
    body.push(h("p", { class: "say" }, words.accepted));
    if (recourse.blanks.length) body.push(sure(recourse));
  } else if (recourse.changes.length) {
    body.push(steps(recourse, onLock, title, hard));
    body.push(h("p", { class: "proof" }, words.proof));
    body.push(sure(recourse));
    body.push(numbers(recourse));
  }
  return [
    h("div", { class: "badges" }, badge(recourse, other),
      words.effort ? h("span", { class: "badge plain" }, words.effort) : null,
      words.time ? h("span", { class: "badge plain" }, t("takes", { time: words.time })) : null),
    h("h2", { id: "answer-title", tabindex: "-1" }, words.headline),
    body,
    h("div", { class: "card-foot" },
      // where the time ran out nothing was decided, so there is nothing to write
      recourse.outcome === "out_of_time" ? null
        : h("button", { type: "button", class: "second-button", on: { click: onLetter } }, t("letter")),
      h("button", { type: "button", class: "quiet-button", on: { click: onCopy } }, t("copy")),
      h("button", { type: "button", class: "quiet-button", on: { click: onSave } }, t("save_json")),
      h("button", { type: "button", class: "quiet-button", on: { click: onTable } }, t("save_csv")),
      reference ? h("span", { class: "hint reference" }, t("reference", { text: reference })) : null),
  ];
}

// model: { recourse, locked, path, onUnlock, onSurest }
export function whyNot({ recourse, locked, path, ask, onUnlock, onSurest }) {
  const opens = ask && ask.questions.some((question) => question.matters);
  const unsure = recourse.blanks.length > 0 && recourse.confidence.asked !== null;
  const most = unsure && path && path.points.length ? said(path) : null;
  return [
    h("h3", null, t("why_title")),
    h("ul", { class: "reasons" },
      said(recourse).why.map((line) => h("li", null, line)),
      most ? h("li", null, most.reach) : null,
    ),
    h("h3", null, t("why_next")),
    h("ul", { class: "next" },
      locked.map((feature) => h("li", null,
        h("button", { type: "button", class: "quiet-button", on: { click: () => onUnlock(feature.name) } }, feature.unlock))),
      most ? h("li", null,
        h("button", { type: "button", class: "quiet-button", on: { click: onSurest } }, most.surest)) : null,
      opens ? h("li", null, t("tell_more")) : null,
      h("li", null, t("ask_human")),
    ),
  ];
}

export function outOfTime({ recourse, onAgain }) {
  const { bound } = said(recourse);
  return [
    h("p", null, t("time_text")),
    bound ? h("p", null, bound) : null,
    h("button", { type: "button", class: "second-button", on: { click: onAgain } }, t("again")),
  ];
}

// each blank: how it was treated, and whether telling would help; ask is null while it is loading, false if it failed
export function blanksCard({ recourse, ask, onTell, feature, title }) {
  const advice = new Map((ask ? ask.questions || [] : []).map((question) => [question.feature, question]));
  const words = ask && ask.said ? said(ask) : null;
  const mode = { freeze: "mode_freeze", shift: "mode_shift", reach: "mode_reach" };
  return [
    h("h2", null, t("blanks_title")),
    h("p", { class: "hint" }, t("blanks_text"), " ", recourse.conditioned === null ? null : t("blanks_known")),
    words && words.sentence && recourse.blanks.length > 1 ? h("p", null, words.sentence) : null,
    h("ul", { class: "blanks" }, recourse.blanks.map((blank) => {
      const question = advice.get(blank.feature);
      return h("li", { class: question && question.matters && (question.decides || ask.best !== null) ? "matters" : null },
        h("div", { class: "blank-head" },
          h("strong", null, title(blank.feature)),
          question ? adviceBadge(question, ask) : null),
        question ? h("p", null, words.questions[blank.feature]) : null,
        h("p", { class: "hint" }, blank.why ? `${t(blank.why === "private" ? "blank" : "not_known")}. ` : null, !recourse.changes.length ? null : t(mode[blank.mode] || "mode_freeze")),
        question && question.matters ? h("button", {
          type: "button", class: "link-button", on: { click: () => onTell(blank.feature) },
        }, feature(blank.feature).tell) : null);
    })),
    words && words.numbers.length ? h("details", { class: "numbers" }, h("summary", null, t("numbers_title")),
      words.numbers.map((line) => h("p", { class: "hint" }, line))) : null,
    ask === null ? h("p", { class: "hint waiting" }, t("ask_wait")) : null,
    ask === false ? h("p", { class: "hint" }, t("ask_fail")) : null,
  ];
}

// telling may change the plan and still not be worth it; then no blank is named best
function adviceBadge(question, ask) {
  const idle = ask.act_now === null ? "ask_alone" : "ask_no"; // without a plan there is nothing that needs no telling
  const word = question.decides ? "ask_decides" : question.matters ? (ask.best === null ? "ask_maybe" : "ask_yes") : idle;
  return h("span", { class: `badge ${word === "ask_yes" || word === "ask_decides" ? "care" : "plain"}` }, t(word));
}
