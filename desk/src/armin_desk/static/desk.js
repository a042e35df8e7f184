// The desk: one form, one answer. All state is here and is gone when the page is closed.

import { DeskError, getSchema, keyTried, postJson, postText, setKey } from "./api.js";
import { Cases, planCells, writeTable } from "./cases.js";
import { byId, h, save, say } from "./dom.js";
import { Form, title } from "./form.js";
import { forget, isKept, keep, recall } from "./kept.js";
import { Letter } from "./letter.js";
import { blanksCard, outOfTime, planCard, served, whyNot } from "./plan.js";
import { current, names, said, speak, t } from "./words.js";
import { Curve, waysCard } from "./ways.js";
import { ideaCard, standCard } from "./why.js";

const COUNT = 3;
const MEMORY = 50; // steps that can be undone
const REST = 500; // milliseconds after an entry before it is kept, where that is wanted
const PAUSE = 300; // milliseconds without a move of the slider before other ways are looked for

let schema = null; // the form, in the page's language
const schemas = new Map(); // by language
let form = null;
let letter = null;
let answer = null; // { body, sure, recourse, path, plans, ask, reasons, point, choice }
let state = { kind: "empty" }; // what the answer side shows
let control = null; // stops the requests of the present answer
let waysControl = null;
let waysTimer = 0;
let curve = null;
let stale = false;
let wish = null; // how sure the person wants to be, once the slider was moved
let hardness = {}; // how hard changes are for this person, by column
let cases = null;
let typed = false; // something was typed that nobody has saved
let keepTimer = 0;
const steps = []; // ways back: functions that bring back what stood here

const featureTitle = (name) => {
  const feature = form.feature(name);
  return feature ? title(feature) : name;
};

// ---------------------------------------------------------------- asking

async function ask({ focus }) {
  const errors = form.errors();
  form.showErrors(errors);
  if (errors.length) return;
  stopAll();
  form.markBlanks();
  const mine = new AbortController();
  control = mine;
  const body = requestOf(form.state(), hardness);
  if (form.decided() === "accepted") {
    answer = null;
    show({ kind: "accepted" });
    focusAnswer();
    return;
  }
  if (Object.values(body.row).every((value) => value === null)) {
    answer = null;
    show({ kind: "nothing" });
    focusAnswer();
    return;
  }
  show({ kind: "working", keep: Boolean(answer) });
  try {
    const sure = wish === null ? {} : { confidence: wish };
    const recourse = await postJson("recourse", { ...body, ...sure }, mine.signal);
    stale = false;
    answer = { body, sure, recourse, path: null, plans: null, ask: null, reasons: null, point: null, choice: 0 };
    show({ kind: "answer" });
    say(t("ready_plan", said(recourse)));
    if (focus) focusAnswer();
    await Promise.all([loadPath(mine.signal), loadWays(mine.signal), loadAsk(mine.signal), loadReasons(mine.signal)]);
  } catch (error) {
    if (!mine.signal.aborted) fail(error);
  }
}

// who was refused asks about that; of everybody else nothing is taken for decided
function requestOf({ row, locked, why = {}, applied = "" }, difficulty = {}) {
  const whole = Object.fromEntries(schema.features.map(({ name }) => [name, row[name] ?? null]));
  const hard = Object.fromEntries(Object.entries(difficulty).filter(([, how]) => how !== "usual"));
  const blank = Object.fromEntries(Object.entries(why).filter(([name, reason]) => reason && whole[name] === null));
  return {
    row: whole, locked, languages: schema.languages, decision: applied === "refused" ? "auto" : "none",
    ...(Object.keys(hard).length ? { difficulty: hard } : {}), ...(Object.keys(blank).length ? { why: blank } : {}),
  };
}

const answerOf = (state_, signal) => patiently(() => postJson("recourse", requestOf(state_, state_.hardness), signal), signal);

const letterOf = (one, signal) => patiently(() => postText("letter", {
  ...requestOf(one.form, one.form.hardness), language: current(),
  ...(one.form.applied === "refused" ? { decided: true, applicant: one.name } : {}),
  ...(one.answer.reference ? { reference: one.answer.reference } : {}),
}, signal), signal);

// one case of many: a busy desk is asked again
async function patiently(work, signal) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || error.kind !== "busy" || tries === 5) throw error;
      await new Promise((go) => { window.setTimeout(go, 1000 * Math.min(error.wait || 1, 10)); });
    }
  }
}

function stopAll() {
  window.clearTimeout(waysTimer);
  if (control) control.abort();
  if (waysControl) waysControl.abort();
  control = null;
  waysControl = null;
}

// a plan that is there stays, with a word on top that it is of before
function fail(error) {
  const kind = error instanceof DeskError ? error.kind : "other";
  const named = kind === "field" ? [...error.errors, error].filter((each) => form.feature(each.field)) : [];
  if (named.length) {
    show(answer ? { kind: "answer" } : { kind: "empty" });
    form.showErrors(named.map(({ field, detail }) => ({ name: field, message: detail })));
    return;
  }
  if (answer) stale = true;
  show(answer && kind !== "key" ? { kind: "answer", failed: { error, reason: kind } } : { kind: "failed", error, reason: kind });
  focusAnswer();
}

// some methods have no path and no advice on telling; that is no failure
const unavailable = (error) => [404, 405, 422, 501].includes(error.status);

async function loadPath(signal) {
  if (!answer.recourse.blanks.length) return;
  const mine = answer;
  try {
    mine.path = withAnswer(await postJson("path", mine.body, signal), mine.recourse);
  } catch (error) {
    if (signal.aborted) return;
    mine.path = unavailable(error) ? { points: [] } : false;
  }
  if (mine === answer) { showCurve(); showWhy(); }
}

async function loadWays(signal, point) {
  const mine = answer;
  const inForce = shownBase();
  if (!inForce.changes.length) return;
  try {
    const body = { ...mine.body, count: COUNT, ...(point === undefined ? mine.sure : { point }) };
    const found = await postJson("alternatives", body, signal);
    mine.plans = arrange(inForce, found.plans);
  } catch (error) {
    if (signal.aborted) return;
    mine.plans = false;
  }
  if (mine === answer) showWays();
}

// what a plan asks for; two plans with the same key are the same
const key = (recourse) => JSON.stringify(recourse.changes.map(({ feature, after, amount }) => [feature, after, amount]));

// the answer's own plan is on the slider: as a point of the path, or beside it where a cheaper one is as sure
function withAnswer(path, recourse) {
  const { points } = path;
  const has = (point) => key(point.recourse) === key(recourse);
  if (!recourse.changes.length || !points.length || recourse.share === null || points.some(has)) return path;
  const own = { share: recourse.share, cost: recourse.cost.value, recourse, beside: true };
  return { ...path, points: [...points, own].sort((a, b) => a.cost - b.cost) };
}

// the plan in force first, then the others; each remembers its number on the server, for the letter
function arrange(inForce, plans) {
  const numbered = plans.map((recourse, index) => ({ recourse, index })).filter((plan) => plan.recourse.changes.length);
  const same = numbered.find((plan) => key(plan.recourse) === key(inForce));
  return [{ recourse: inForce, index: same ? same.index : 0 }, ...numbered.filter((plan) => plan !== same)].slice(0, COUNT);
}

async function loadAsk(signal) {
  if (!answer.recourse.blanks.length) return;
  const mine = answer;
  try {
    mine.ask = await postJson("ask", mine.body, signal);
  } catch (error) {
    if (signal.aborted) return;
    mine.ask = unavailable(error) ? { questions: [] } : false;
  }
  if (mine === answer) { showBlanks(); showWhy(); }
}

async function loadReasons(signal) {
  const mine = answer;
  const { locked, ...body } = mine.body;
  try {
    mine.reasons = await postJson("reasons", body, signal);
  } catch (error) {
    if (signal.aborted) return;
    mine.reasons = unavailable(error) ? undefined : false;
  }
  if (mine === answer) showStand();
}

// ---------------------------------------------------------------- what is shown

function shownBase() {
  return answer.point === null ? answer.recourse : answer.path.points[answer.point].recourse;
}

function shown() {
  return answer.choice > 0 ? answer.plans[answer.choice].recourse : shownBase();
}

const card = (id, ...children) => h("div", { class: "panel card", id }, ...children);

function show(next) {
  const before = state;
  state = next;
  if (curve) { curve.stop(); curve = null; }
  const working = next.kind === "working";
  byId("send").disabled = working || !form;
  byId("send").textContent = t(working ? "working" : answer && stale ? "update" : "send");
  byId("stop").hidden = !working;
  const body = byId("answer-body");
  byId("answer").setAttribute("aria-busy", String(working));
  body.classList.toggle("is-old", working && next.keep);
  if (working && next.keep && before.kind === "answer") return;
  if (next.kind === "answer") { showAnswer(body); return; }
  body.replaceChildren(...sideCard(next));
}

function sideCard(next) {
  const simple = (word, text, ...more) =>
    [card(`state-${next.kind}`, h("h2", { id: "answer-title", tabindex: "-1" }, word), h("p", { class: "say" }, text), more)];
  if (next.kind === "working") return simple(t("work_title"), t("work_text"), h("div", { class: "progress", "aria-hidden": "true" }));
  if (next.kind === "stopped") return simple(t("stopped_title"), t("stopped_text"));
  if (next.kind === "accepted") return simple(t("accepted_title"), t("accepted_text"));
  if (next.kind === "nothing") return simple(t("nothing_title"), t("nothing_text"));
  if (next.kind !== "failed") return simple(t("empty_title"), t("empty_text"), emptyPicture());
  const { reason } = next;
  if (reason === "key") return simple(t("key_title"), t(keyTried() ? "key_wrong" : "key_text"), keyForm());
  const { head, text, more } = trouble(next);
  return simple(head, text, more);
}

// what went wrong, and the button to try again
function trouble({ error, reason }) {
  const again = h("button", { type: "button", class: "second-button", on: { click: () => retry() } }, t("again"));
  if (reason === "offline") return { head: t("offline_title"), text: t("offline_text"), more: again };
  if (reason === "busy") return { head: t("busy_title"), text: error.wait ? t("busy_wait", { n: error.wait }) : t("busy_text"), more: again };
  if (reason === "time") return { head: t("head_time"), text: t("time_text"), more: again };
  const detail = error.detail ? h("p", { class: "hint" }, served(error.detail)) : null;
  return { head: t("error_title"), text: t("error_text"), more: [detail, again] };
}

function emptyPicture() {
  return h("div", { class: "empty-stairs", "aria-hidden": "true" }, h("i"), h("i"), h("i"), h("i"));
}

function keyForm() {
  const input = h("input", { type: "password", id: "key", autocomplete: "off" });
  return h("form", {
    class: "key-form", autocomplete: "off",
    on: { submit: (event) => { event.preventDefault(); setKey(input.value); retry(); } },
  }, h("label", { for: "key", class: "label" }, t("key_label")), h("div", { class: "entry" }, input),
  h("button", { type: "submit", class: "second-button" }, t("key_send")));
}

const retry = () => (form ? ask({ focus: true }) : start());

// an update that failed: said above the plan, which stays
function failedNote(failed) {
  if (!failed) return "";
  const { head, text, more } = trouble(failed);
  return h("div", { class: "panel failed-note", id: "failed-note", role: "alert" }, h("h3", null, head), h("p", null, text), more);
}

function showAnswer(body) {
  const { recourse } = answer;
  body.classList.remove("is-old");
  body.replaceChildren(
    failedNote(state.failed),
    h("p", { class: "stale", id: "stale", hidden: !stale }, h("span", null, t("stale")), " ",
      h("button", { type: "button", class: "link-button", on: { click: () => ask({ focus: true }) } }, t("update"))),
    card("plan"),
    recourse.changes.length ? card("ways") : "",
    recourse.blanks.length ? card("curve") : "",
    recourse.blanks.length ? card("blanks") : "",
    card("stand"),
    card("idea"),
    card("notes"),
  );
  showPlan();
  showWays();
  showCurve();
  showBlanks();
  showStand();
  showIdea();
  showNotes();
}

function showPlan() {
  const recourse = shown();
  const panel = byId("plan");
  panel.className = `panel card plan is-${recourse.outcome}`;
  panel.replaceChildren(...planCard({
    recourse, other: answer.choice > 0, reference: answer.recourse.reference,
    title: (name) => (form.feature(name) || { label: name }).label,
    hard: { of: (name) => hardness[name] || "usual", onHard: setHard },
    onLock: (name) => form.setLock(name, true, true), onLetter: () => openLetter(), onCopy: copy,
    onSave: () => save("recourse.json", JSON.stringify({ request: answer.body, answer: shown() }, null, 1), "application/json"),
    onTable: toTable,
  }).flat().filter(Boolean));
  const extra = h("div", { id: "why" });
  panel.insertBefore(extra, panel.lastElementChild);
  showWhy();
}

// the form and the plan as a table of one line
function toTable() {
  const { row } = answer.body;
  const plan = ["changes", "cost", "share", "effort", "time"].map((word) => t(`compare_${word}`));
  const cells = shown().cost.value === null ? [said(shown()).headline] : planCells(shown());
  save("recourse.csv", writeTable([[...Object.keys(row), ...plan], [...Object.values(row), ...cells]]), "text/csv;charset=utf-8");
}

function showWhy() {
  const extra = byId("why");
  if (!extra || !answer) return;
  const recourse = shown();
  if (recourse.outcome === "no_recourse") {
    extra.replaceChildren(...whyNot({
      recourse, path: answer.path || null, ask: answer.ask || null,
      locked: schema.features.filter((feature) => answer.body.locked.includes(feature.name)),
      onUnlock: (name) => form.setLock(name, false, true),
      onSurest: () => { showPoint(answer.path.points.length - 1); focusAnswer(); },
    }).filter(Boolean));
  } else if (recourse.outcome === "out_of_time") {
    extra.replaceChildren(...outOfTime({ recourse, onAgain: () => ask({ focus: true }) }).filter(Boolean));
  }
}

function showStand() {
  const box = byId("stand");
  if (!box) return;
  box.hidden = answer.reasons === undefined; // nobody to compare with
  box.replaceChildren(...(box.hidden ? [] : standCard(answer.reasons)));
}

function showIdea() {
  const mine = answer;
  const onTry = (changes) => postJson("what_if", { ...mine.body, changes }, control ? control.signal : undefined);
  mine.idea ??= {}; // what was typed and found survives a change of language
  byId("idea").replaceChildren(...ideaCard({ features: schema.features, memory: mine.idea, onTry }));
}

function showWays() {
  const box = byId("ways");
  if (!box) return;
  box.replaceChildren(...waysCard({ plans: answer.plans, choice: answer.choice, onChoose: choose }));
}

function choose(index) {
  answer.choice = index;
  showPlan();
  say(t("ready_plan", said(shown())));
}

function showCurve() {
  const box = byId("curve");
  if (!box) return;
  const { path } = answer;
  if (path && path.points.length > 1) {
    const selected = answer.point ?? (home() < 0 ? path.points.length - 1 : home());
    curve = new Curve(box, path, { selected, onPick: movedTo });
  } else if (path) {
    box.replaceChildren();
    box.hidden = true;
  } else {
    box.replaceChildren(h("h2", null, t("curve_title")),
      h("p", { class: path === null ? "hint waiting" : "hint" }, t(path === null ? "curve_wait" : "curve_fail")));
  }
}

// the point that is the first answer's plan, or -1 if that has none
const home = () => answer.path.points.findIndex((point) => key(point.recourse) === key(answer.recourse) && answer.recourse.share !== null);

// the points are all here: the plan follows the slider at once, and only the other ways are asked for
function movedTo(index) {
  answer.point = index === home() ? null : index;
  wish = answer.point === null ? null : answer.path.points[index].share || null;
  answer.choice = 0;
  answer.plans = null;
  showPlan();
  if (!byId("ways") && shown().changes.length) byId("plan").after(card("ways"));
  if (byId("ways")) byId("ways").hidden = !shown().changes.length;
  showWays();
  window.clearTimeout(waysTimer);
  if (waysControl) waysControl.abort();
  waysControl = new AbortController();
  const { signal } = waysControl;
  const point = answer.point === null ? undefined : answer.path.points[index].share;
  waysTimer = window.setTimeout(() => loadWays(signal, point), PAUSE);
}

function showPoint(index) {
  if (curve) curve.pick(index);
  else movedTo(index); // a path of one point has no slider
}

function showBlanks() {
  const box = byId("blanks");
  if (!box) return;
  box.replaceChildren(...blanksCard({
    recourse: answer.recourse, ask: answer.ask, title: featureTitle, feature: (name) => form.feature(name), onTell: (name) => form.focus(name),
  }).filter(Boolean));
}

function showNotes() {
  const box = byId("notes");
  const { notes } = said(answer.recourse);
  box.hidden = !notes.length;
  box.replaceChildren(h("h2", null, t("notes_title")), h("ul", null, notes.map((note) => h("li", null, note))));
}

function focusAnswer() {
  const heading = byId("answer-title");
  heading.focus({ preventScroll: true });
  const top = byId("answer").getBoundingClientRect();
  if (top.top < 0 || top.top > window.innerHeight * 0.5) byId("answer").scrollIntoView({ block: "start" });
}

// ---------------------------------------------------------------- what people do

function onLock(focus) {
  if (answer || state.kind === "working") ask({ focus });
}

function setHard(name, how) {
  hardness = { ...hardness, [name]: how };
  onLock(true);
}

async function copy() {
  const words = said(shown());
  const lines = [words.headline, ...words.changes.map((sentence, i) => `${i + 1}. ${sentence}`), words.proof, ...words.sure];
  try {
    await navigator.clipboard.writeText(lines.filter(Boolean).join("\n"));
    say(t("copied"));
  } catch {
    say(t("copy_fail"));
  }
}

// what the form holds, for a case
const snapshot = () => ({ form: { ...form.state(), hardness }, answer: answer && !stale ? answer.recourse : null });

function showCase(one) {
  remember();
  stopAll();
  form.restore(one.form);
  hardness = one.form.hardness || {};
  wish = null;
  stale = false;
  answer = null;
  show({ kind: "empty" });
  const errors = form.errors();
  if (errors.length) form.showErrors(errors);
  else if (one.answer) ask({ focus: true });
  else byId("form").scrollIntoView({ block: "nearest" });
}

function onEdit() {
  typed = true;
  keepSoon();
  if (stale || !(answer || state.kind === "working")) return;
  stale = true;
  if (state.kind === "working") return;
  byId("send").textContent = t("update");
  const note = byId("stale");
  if (note) note.hidden = false;
}

// a letter is about what stands in the form
async function openLetter() {
  if (stale) await ask({ focus: false });
  if (stale || !answer || state.kind !== "answer") return;
  const notice = Boolean(cases.shown) && answer.body.decision === "auto"; // a case worker has entered the decision
  const request = { ...answer.body, ...(notice ? { decided: true } : {}) };
  if (answer.recourse.reference) request.reference = answer.recourse.reference;
  if (answer.point !== null) request.point = answer.path.points[answer.point].share;
  else Object.assign(request, answer.sure);
  if (answer.plans) request.choice = answer.plans[answer.choice].index;
  letter.open(request, notice);
}

function empty() {
  stopAll();
  answer = null;
  stale = false;
  wish = null;
  hardness = {};
  show({ kind: "empty" });
}

// whatever replaces what stands in the form can be undone
function remember() {
  if (form.isEmpty()) return;
  const before = { form: form.state(), answer, wish, hardness, stale };
  const case_ = cases.shown;
  undoable(() => {
    stopAll();
    cases.leave();
    form.restore(before.form);
    ({ answer, wish, hardness, stale } = before);
    cases.shown = case_;
    cases.render();
    show({ kind: answer ? "answer" : "empty" });
  });
}

function undoable(back) {
  steps.push(back);
  if (steps.length > MEMORY) steps.shift();
  byId("undo").hidden = false;
}

function undo() {
  const back = steps.pop();
  byId("undo").hidden = !steps.length;
  if (!back) return;
  back();
  say(t("undone"));
}

function replaceForm(state_, word) {
  remember();
  cases.leave();
  form.restore(state_);
  empty();
  typed = false;
  keepSoon();
  say(word);
}

// ---------------------------------------------------------------- over a reload

function keepNow() {
  window.clearTimeout(keepTimer);
  if (!isKept()) return;
  const room = keep({ form: form.state(), hardness, wish, cases: cases.state() });
  if (!room) { say(t("keep_full")); cases.render(); }
}

function keepSoon() {
  window.clearTimeout(keepTimer);
  if (isKept()) keepTimer = window.setTimeout(keepNow, REST);
}

function onKeep(on) {
  if (!on) forget();
  else if (keep({})) keepNow();
}

function bringBack() {
  const before = recall();
  if (!before || !before.form) return;
  form.restore(before.form);
  ({ hardness = {}, wish = null } = before);
  cases.restore(before.cases);
  typed = !form.isEmpty();
}

window.addEventListener("pagehide", () => { if (cases) keepNow(); });
window.addEventListener("beforeunload", (event) => {
  if (!cases) return;
  cases.keep();
  if (cases.unsaved || (typed && !cases.shown && !isKept())) event.preventDefault();
});

function showPeople() {
  const box = byId("people");
  const people = schema.people || [];
  box.hidden = !people.length;
  box.replaceChildren(h("p", { class: "hint" }, t("people_title")),
    h("ul", { class: "people" }, people.map((person) => h("li", null,
      h("button", {
        type: "button", class: "person",
        on: { click: () => replaceForm({ row: person.row, applied: form.decided() }, person.loaded) },
      }, h("strong", null, person.name), person.story ? h("span", null, person.story) : null)))));
}

// ---------------------------------------------------------------- language and start

function showWords() {
  document.documentElement.lang = current();
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = t(element.dataset.word);
  document.title = schema && schema.title ? `${t("title")} – ${schema.title}` : t("title");
  if (schema && schema.title) document.querySelector(".eyebrow").textContent = schema.title;
}

function showLanguages() {
  const box = byId("languages");
  const codes = Object.keys(names());
  box.hidden = codes.length < 2;
  box.setAttribute("aria-label", t("languages"));
  box.replaceChildren(...codes.map((code) => h("button", {
    type: "button", lang: code, class: "language", "aria-pressed": String(code === current()),
    on: { click: () => change(code) },
  }, names()[code])));
}

// the words of the page and the names of the columns, together or not at all
async function speakIn(codes) {
  await speak(codes);
  if (!schemas.has(current())) schemas.set(current(), await getSchema(current()));
  schema = schemas.get(current());
  if (form) form.features = schema.features;
}

// one after the other: whoever presses two languages in a row gets the second, however long the first takes to come
let changed = Promise.resolve();
const change = (code) => { changed = changed.then(() => turnTo(code)); };

async function turnTo(code) {
  const before = current();
  try {
    await speakIn([code]);
  } catch {
    await speak([before]); // kept, so that it needs no server
    byId("language-note").textContent = t("offline_title");
    say(t("offline_title"));
    return;
  }
  byId("language-note").textContent = "";
  showAll();
  byId("languages").querySelector(`[lang="${code}"]`).focus();
}

function showAll() {
  showWords();
  showLanguages();
  showPeople();
  cases.render();
  form.render();
  show(state.kind === "working" ? { kind: "working", keep: false } : state);
}

async function start() {
  try {
    await speak(navigator.languages || []);
  } catch {
    byId("unreachable").hidden = false;
    return;
  }
  showWords();
  show({ kind: "empty" });
  try {
    await speakIn([current()]);
  } catch (error) {
    show({ kind: "failed", error, reason: error instanceof DeskError ? error.kind : "other" });
    return;
  }
  form = new Form(byId("fields"), schema.features, { onEdit, onLock });
  cases = new Cases({ features: () => schema.features, show: showCase, current: snapshot, answer: answerOf, letter: letterOf, undoable, kept: isKept, onKeep });
  byId("cases").hidden = false;
  bringBack();
  showAll();
}

letter = new Letter();
byId("form").addEventListener("submit", (event) => { event.preventDefault(); if (form) ask({ focus: true }); });
byId("form").addEventListener("reset", (event) => {
  event.preventDefault();
  if (form) replaceForm({ row: {} }, t("cleared"));
});
byId("undo").addEventListener("click", undo);
byId("stop").addEventListener("click", () => {
  stopAll();
  show({ kind: answer ? "answer" : "stopped" });
  focusAnswer();
});
start();
