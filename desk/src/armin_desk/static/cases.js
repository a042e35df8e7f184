// Several people at once: read from files, worked through, saved to files. All of it lives in this page.

import { byId, h, save, say } from "./dom.js";
import { joined } from "./letter.js";
import { parse } from "./numbers.js";
import { current, said, t } from "./words.js";

// what a table says about a plan
export const planCells = (answer) => [said(answer).changes.join(" "), answer.cost.value, answer.share, said(answer).effort, said(answer).time];

const FORMAT = "armin.cases/1";
const isNumber = (feature) => feature.kind === "integer" || feature.kind === "continuous";

// rows of a text with separators: RFC 4180, with whichever of ; , or tab the first line has most of
export function readTable(text) {
  const first = text.split(/\r?\n/, 1)[0];
  const mark = [";", "\t", ","].map((one) => [first.split(one).length, one]).sort((a, b) => b[0] - a[0])[0][1];
  const rows = [];
  let cells = [], cell = "", quoted = false;
  const end = () => { cells.push(cell); cell = ""; };
  const line = () => { end(); if (cells.some((one) => one.trim() !== "")) rows.push(cells); cells = []; };
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') { cell += c; i += 1; } else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"' && !cell.trim()) { quoted = true; cell = ""; } else if (c === mark) end();
    else if (c === "\n") line();
    else if (c !== "\r") cell += c;
  }
  line();
  return rows;
}

const NAMES = /^(id|name|case|fall|person|applicant)$/i;
const ALIKE = 0.5; // of the pairs of letters that two headings share, from which on one is proposed for the other

// a heading without what people write in one way or another
const bare = (text) => String(text).toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

// Dice's share of common pairs of letters
function likeness(one, other) {
  const [a, b] = [bare(one), bare(other ?? "")].map((text) => Array.from({ length: Math.max(text.length - 1, 0) }, (_, i) => text.slice(i, i + 2)));
  const left = [...b];
  const common = a.filter((pair) => { const at = left.indexOf(pair); if (at >= 0) left.splice(at, 1); return at >= 0; });
  return a.length + b.length ? (2 * common.length) / (a.length + b.length) : 0;
}

// a cell that begins like a formula is no formula
const csvCell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value !== "number" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
};
export const writeTable = (rows) => `\ufeff${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;

export class Cases {
  // desk: { features(), show(case), current(), answer(form, signal), letter(case, signal), undoable(back), kept, onKeep(on) }
  constructor(desk) {
    this.desk = desk;
    this.list = []; // { name, form, answer, failed }
    this.shown = null;
    this.unsaved = false;
    this.control = null;
    this.note = "";
    this.pasted = "";
    this.asked = null; // rows with columns that fit no field, until somebody has said what these are
    this.decided = "not_yet"; // about the cases of this list
    // a file may be dropped anywhere: the browser would leave the page for it
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      const text = event.dataTransfer.getData("text/plain");
      if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
      else if (text.trim()) this.read(text, "");
    });
  }

  // ---------------------------------------------------------------- reading

  async take(file) { this.read(await file.text(), file.name); }

  read(text, name) {
    try {
      const body = text.replace(/^\ufeff/, "").trim();
      const data = /^[[{]/.test(body) ? JSON.parse(body) : null;
      if (data && data.format === FORMAT) this.append(data.cases.map((one) => this.fromKept(one)), name);
      else this.admit(data ? this.rowsOf(data) : this.fromTable(readTable(body)), name);
    } catch (error) {
      this.tell(t("cases_unread", { text: error.message || name }));
    }
  }

  // columns that fit no field are asked about before anything is done with them
  admit(rows, name) {
    const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const unknown = heads.filter((head) => !this.column(head) && !NAMES.test(head));
    if (!rows.length || !unknown.length) { this.addRows(rows, new Map(), name); return; }
    const taken = new Set(heads.map((head) => this.column(head)?.name));
    let named = heads.some((head) => NAMES.test(head));
    const choices = new Map(unknown.map((head) => {
      const free = this.desk.features().filter((one) => !taken.has(one.name));
      const best = free.map((one) => [Math.max(...[one.name, one.label, one.short].map((text) => likeness(head, text))), one])
        .sort((a, b) => b[0] - a[0])[0];
      if (best && best[0] >= ALIKE) { taken.add(best[1].name); return [head, `=${best[1].name}`]; }
      const texts = rows.map((row) => String(row[head] ?? "").trim());
      const names = !named && new Set(texts).size === texts.length && texts.every((text) => /\p{L}/u.test(text));
      named ||= names;
      return [head, names ? "name" : ""];
    }));
    this.asked = { rows, choices, name };
    this.tell(t("cases_map_wait", { n: rows.length }));
    byId("cases").querySelector(".mapper select").focus();
  }

  addRows(rows, choices, name) {
    this.asked = null;
    this.append(rows.map((row, i) => this.fromRow(row, i, choices)), name, [...choices].filter(([, choice]) => !choice).map(([head]) => head));
  }

  append(cases, name, left = []) {
    if (!cases.length) { this.tell(t("cases_unread", { text: name })); return; }
    this.list.push(...cases);
    this.pasted = "";
    this.unsaved = true;
    this.tell([t("cases_loaded", { n: cases.length }), left.length ? t("cases_columns", { text: left.join(", ") }) : ""].join(" ").trim());
  }

  rowsOf(data) {
    return (Array.isArray(data) ? data : [data]).map((row) => (row.row && typeof row.row === "object" ? row.row : row));
  }

  // an answer in words that this desk does not speak is worked out again
  fromKept({ name, form: { row, typed = {}, why = {}, locked = [], hardness = {}, applied = this.decided }, answer, failed }) {
    const spoken = answer && answer.said && answer.said[current()] ? answer : null;
    return { name: String(name), form: { row: { ...row }, typed, why, locked, hardness, applied }, answer: spoken, failed: Boolean(failed) };
  }

  fromTable([head, ...rows]) {
    const columns = this.desk.features();
    // rows alone, as they are copied out of a table: the columns in the order of the form's own table
    const bare = head.length === columns.length && !head.some((name) => this.column(name));
    const names = bare ? columns.map(({ name }) => name) : head.map((name) => name.trim());
    const people = bare ? [head, ...rows] : rows;
    return people.map((cells) => Object.fromEntries(names.map((name, i) => [name, (cells[i] ?? "").trim()])));
  }

  // the column of a name or a label
  column(text) {
    const same = (other) => other && bare(other) === bare(text);
    return this.desk.features().find((one) => same(one.name) || same(one.label) || same(one.short));
  }

  // columns by their name or label; what is no value stays as it was typed, to be looked at
  fromRow(given, place, choices) {
    const form = { row: {}, typed: {}, why: {}, locked: [], applied: this.decided };
    let name = "";
    for (const [key, value] of Object.entries(given)) {
      const choice = choices.get(key) ?? "";
      const feature = this.column(key) ?? this.desk.features().find((one) => `=${one.name}` === choice);
      if (feature) this.place(form, feature, value);
      else if (choice === "name" || NAMES.test(key)) name = String(value);
    }
    return { name: name || t("case_name", { n: this.list.length + place + 1 }), form, answer: null, failed: false };
  }

  place(form, feature, value) {
    form.row[feature.name] = null;
    if (value === null || value === undefined || String(value).trim() === "") return;
    if (isNumber(feature)) {
      const found = typeof value === "number" ? { kind: "number", value } : parse(String(value), { language: current(), unit: feature.unit || "" });
      if (found.kind === "number") form.row[feature.name] = found.value;
      else form.typed[feature.name] = String(value);
    } else if (feature.kind === "carried") form.row[feature.name] = value;
    else {
      const same = (text) => String(text).trim().toLowerCase() === String(value).trim().toLowerCase();
      const found = (feature.categories || []).find((one) => same(one.value) || same(one.label));
      if (found) form.row[feature.name] = found.value;
      else form.typed[feature.name] = String(value);
    }
  }

  // ---------------------------------------------------------------- working

  faults({ form }) {
    const outside = this.desk.features().filter((feature) => {
      const value = form.row[feature.name] ?? null;
      if (!isNumber(feature) || value === null) return false;
      return value < feature.lower || value > feature.upper || (feature.kind === "integer" && !Number.isInteger(value));
    });
    return Object.keys(form.typed).length + outside.length;
  }

  stateOf(one) {
    const wrong = this.faults(one);
    if (wrong) return t("case_look", { n: wrong });
    if (one.failed) return t("case_failed");
    return one.answer ? said(one.answer).headline : t("case_new");
  }

  // one after the other, with progress; whatever is done stays done when it is stopped
  async each(list, word, work) {
    this.control = new AbortController();
    const { signal } = this.control;
    this.progress = { done: 0, all: list.length, word };
    this.render();
    for (const one of list) {
      try {
        await work(one, signal);
        one.failed = false;
      } catch {
        if (signal.aborted) break;
        one.failed = true;
      }
      this.progress.done += 1;
      this.tick(one);
    }
    this.control = null;
    this.progress = null;
  }

  async all() {
    this.keep();
    const open = this.list.filter((one) => !one.answer && !this.faults(one));
    await this.each(open, "cases_progress", async (one, signal) => {
      one.answer = await this.desk.answer(one.form, signal);
      this.unsaved = true;
    });
    this.tell(t("cases_progress", { done: this.list.filter((one) => one.answer).length, all: this.list.length }));
  }

  // letters for whoever has an answer, in one file; where the time ran out nothing was decided
  async letters() {
    this.keep();
    const ready = this.list.filter((one) => one.answer && one.answer.outcome !== "out_of_time");
    const pages = [];
    await this.each(ready, "letters_progress", async (one, signal) => { pages.push(await this.desk.letter(one, signal)); });
    if (pages.length) save("letters.html", joined(pages), "text/html");
    this.tell(t("letters_progress", { done: pages.length, all: this.list.length }));
  }

  tell(note) {
    this.note = note;
    say(note);
    this.render();
  }

  open(one) {
    this.keep();
    this.desk.show(one); // which remembers the case that was open
    this.shown = one;
    say(t("case_opened", { name: one.name }));
    this.render();
  }

  // what stands in the form belongs to the case that is open
  keep() {
    if (!this.shown) return;
    const { form, answer } = this.desk.current();
    const content = ({ row, typed, locked, hardness, applied }) => JSON.stringify([row, typed, locked, hardness ?? {}, applied]);
    const whole = { row: Object.fromEntries(Object.keys(form.row).map((name) => [name, this.shown.form.row[name] ?? null])) };
    const same = content(form) === content({ ...this.shown.form, ...whole });
    if (!same) this.unsaved = true;
    // an answer belongs to the entries that it was worked out for
    Object.assign(this.shown, { form, answer: answer ?? (same ? this.shown.answer : null), failed: false });
  }

  add() {
    const { form, answer } = this.desk.current();
    this.keep();
    this.list.push({ name: t("case_name", { n: this.list.length + 1 }), form, answer, failed: false });
    this.shown = this.list[this.list.length - 1];
    this.unsaved = true;
    this.render();
  }

  remove(one) {
    const { list, shown } = this;
    this.keep();
    this.list = list.filter((other) => other !== one);
    if (shown === one) this.shown = null;
    this.unsaved = this.list.length > 0;
    this.desk.undoable(() => { Object.assign(this, { list, shown, unsaved: true }); this.render(); });
    this.render();
  }

  // nothing of a case is in the form any more: what it held stays with it
  leave() {
    this.keep();
    this.shown = null;
    this.render();
  }

  toFile() {
    this.keep();
    save("cases.json", JSON.stringify({ format: FORMAT, cases: this.list }, null, 1), "application/json");
    this.unsaved = false;
    this.render();
  }

  // the list as it can be kept, and back
  state() {
    this.keep();
    return { list: this.list, shown: this.list.indexOf(this.shown), unsaved: this.unsaved };
  }

  restore({ list, shown, unsaved }) {
    this.list = list.map((one) => this.fromKept(one));
    Object.assign(this, { shown: this.list[shown] ?? null, unsaved });
    this.render();
  }

  toTable() {
    this.keep();
    const features = this.desk.features();
    const head = [t("cases_case"), ...features.map((feature) => feature.name), t("cases_state"), t("compare_changes"), t("compare_cost"), t("compare_share"), t("compare_effort"), t("compare_time")];
    const rows = this.list.map((one) => [
      one.name, ...features.map((feature) => one.form.typed[feature.name] ?? one.form.row[feature.name]), this.stateOf(one),
      ...(one.answer ? planCells(one.answer) : []),
    ]);
    save("cases.csv", writeTable([head, ...rows]), "text/csv;charset=utf-8");
  }

  // an answer belongs to a decision: another one makes it anew
  decide(value) {
    this.keep();
    this.decided = value;
    for (const one of this.list) {
      if (one.form.applied !== value) Object.assign(one, { form: { ...one.form, applied: value }, answer: null });
    }
    if (this.shown) this.desk.show(this.shown);
    this.unsaved = this.list.length > 0;
    this.render();
  }

  // what each column that fits no field is, with a proposal
  mapper() {
    const { rows, choices, name } = this.asked;
    const options = [["", t("cases_map_out")], ["name", t("cases_map_name")], ...this.desk.features().map((one) => [`=${one.name}`, one.label])];
    const lines = [...choices].map(([head, choice], i) => {
      const select = h("select", { id: `map${i}`, autocomplete: "off", on: { change: () => choices.set(head, select.value) } },
        options.map(([value, text]) => h("option", { value }, text)));
      select.value = choice;
      const seen = rows.map((row) => row[head]).filter((value) => value !== null && value !== undefined && value !== "").slice(0, 2);
      return [h("label", { class: "label", for: `map${i}` }, head, " ", h("span", { class: "hint" }, seen.join(", "))), h("div", { class: "entry" }, h("span", { class: "pick" }, select))];
    });
    return h("div", { class: "drop mapper", role: "group", "aria-label": t("cases_map_title") }, h("p", null, h("strong", null, t("cases_map_title"))), lines,
      h("div", { class: "case-tools" }, this.button("cases_map_add", () => this.addRows(rows, choices, name), { look: "second-button small" }),
        this.button("cases_map_drop", () => { this.asked = null; this.tell(""); })));
  }

  decider() {
    const select = h("select", { id: "cases-decided", "data-tool": "decided", autocomplete: "off", on: { change: () => this.decide(select.value) } },
      ["not_yet", "refused"].map((value) => h("option", { value }, t(`cases_${value}`))));
    const found = [...new Set(this.list.map((one) => one.form.applied))];
    if (found.length === 1) [this.decided] = found;
    select.value = found.length === 1 ? found[0] : ""; // nothing where they differ
    return [h("label", { class: "label", for: "cases-decided" }, t("cases_decided")), h("div", { class: "entry" }, h("span", { class: "pick" }, select))];
  }

  // ---------------------------------------------------------------- what is seen

  // while many are worked on, only what has changed is shown anew, so that the focus stays where it is
  tick(one) {
    const { done, all, word } = this.progress;
    byId("cases-note").textContent = t(word, { done, all });
    byId("cases-bar").value = done;
    const cell = byId("cases").querySelector(`[data-case="${this.list.indexOf(one)}"]`);
    if (cell) cell.textContent = this.stateOf(one);
  }

  button(word, click, { name = "", look = "quiet-button small" } = {}) {
    return h("button", {
      type: "button", class: look, "data-tool": `${word} ${name}`, "aria-label": name ? `${t(word)}: ${name}` : null, on: { click },
    }, t(word));
  }

  render() {
    const box = byId("cases");
    const { activeElement } = document;
    const focused = box.contains(activeElement) ? activeElement.dataset.tool : null;
    const file = h("input", { type: "file", id: "cases-file", class: "unseen", accept: ".csv,.tsv,.txt,.json", on: { change: () => { if (file.files[0]) this.take(file.files[0]); } } });
    const paste = h("textarea", {
      id: "cases-paste", rows: 3, spellcheck: "false", autocomplete: "off", prop: { value: this.pasted }, on: { input: () => { this.pasted = paste.value; } },
    });
    const opened = box.querySelector("details")?.open ?? false;
    const { progress } = this;
    box.replaceChildren(h("details", { class: "section", prop: { open: opened || this.list.length > 0 || Boolean(this.asked) } },
      h("summary", null, h("span", { class: "section-name" }, t("cases_title")), h("span", { class: "hint" }, this.list.length || "")),
      h("div", { class: "drop" }, h("p", { class: "hint" }, t("cases_text")), file,
        h("label", { class: "quiet-button small file-button", for: "cases-file" }, t("cases_choose")), this.button("cases_add", () => this.add())),
      h("label", { class: "label", for: "cases-paste" }, t("cases_paste")), paste,
      this.button("cases_read", () => { if (paste.value.trim()) this.read(paste.value, ""); }),
      h("p", { class: "hint", role: "status", id: "cases-note" }, progress ? t(progress.word, progress) : this.note),
      progress ? h("progress", { id: "cases-bar", max: progress.all, "aria-label": t("cases_title"), prop: { value: progress.done } }) : null,
      this.asked ? this.mapper() : null,
      this.list.length ? [this.decider(), this.table(), this.tools()] : null,
      this.keeper(),
    ));
    const again = focused && Array.from(box.querySelectorAll("[data-tool]")).find((one) => one.dataset.tool === focused);
    if (again) again.focus({ preventScroll: true });
  }

  tools() {
    return h("div", { class: "case-tools" },
      this.control ? this.button("cases_stop", () => this.control.abort())
        : [this.button("cases_all", () => this.all(), { look: "second-button small" }), this.button("cases_letters", () => this.letters())],
      this.button("cases_save", () => this.toFile()), this.button("cases_table", () => this.toTable()),
      this.unsaved ? h("p", { class: "hint" }, t("cases_unsaved")) : null);
  }

  // off until somebody wants it: then a reload brings everything back, and closing the tab forgets it
  keeper() {
    const input = h("input", {
      type: "checkbox", role: "switch", id: "cases-keep", autocomplete: "off", "data-tool": "keep", prop: { checked: this.desk.kept() },
      on: { change: () => this.desk.onKeep(input.checked) },
    });
    return h("div", { class: "keep" }, h("label", { class: "switch" }, input, h("span", { class: "track", "aria-hidden": "true" }), h("span", null, t("keep"))),
      h("p", { class: "hint" }, t("keep_text")));
  }

  table() {
    const head = ["cases_case", "cases_state"].map((word) => h("th", { scope: "col" }, t(word)));
    return h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": t("cases_title") }, h("table", { class: "compare cases" },
      h("thead", null, h("tr", null, head, h("td"))),
      h("tbody", null, this.list.map((one, i) => h("tr", { class: one === this.shown ? "is-shown" : null },
        h("th", { scope: "row" }, one.name),
        h("td", { class: this.faults(one) || one.failed ? "error" : null, "data-case": i }, this.stateOf(one)),
        h("td", null,
          this.button("cases_open", () => this.open(one), { name: one.name, look: "link-button" }), " ",
          this.button("cases_remove", () => this.remove(one), { name: one.name, look: "link-button" })))))));
  }
}
