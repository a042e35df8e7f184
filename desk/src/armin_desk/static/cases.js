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
      const cases = /^[[{]/.test(body) ? this.fromJson(JSON.parse(body)) : this.fromTable(readTable(body));
      if (!cases.length) throw new Error(name);
      this.list.push(...cases);
      this.pasted = "";
      this.unsaved = true;
      this.note = [t("cases_loaded", { n: cases.length }), this.unknown.length ? t("cases_columns", { text: this.unknown.join(", ") }) : ""].join(" ").trim();
    } catch (error) {
      this.note = t("cases_unread", { text: error.message || name });
    }
    say(this.note);
    this.render();
  }

  fromJson(data) {
    this.unknown = [];
    if (data.format === FORMAT) return data.cases.map((one) => this.fromKept(one));
    const rows = Array.isArray(data) ? data : [data];
    return rows.map((row, i) => this.fromRow(row.row && typeof row.row === "object" ? row.row : row, i));
  }

  // an answer in words that this desk does not speak is worked out again
  fromKept({ name, form: { row, typed = {}, why = {}, locked = [], hardness = {}, applied = this.decided }, answer, failed }) {
    const spoken = answer && answer.said && answer.said[current()] ? answer : null;
    return { name: String(name), form: { row: { ...row }, typed, why, locked, hardness, applied }, answer: spoken, failed: Boolean(failed) };
  }

  fromTable([head, ...rows]) {
    this.unknown = [];
    const columns = this.desk.features();
    // rows alone, as they are copied out of a table: the columns in the order of the form's own table
    const bare = head.length === columns.length && !head.some((name) => this.column(name));
    const names = bare ? columns.map(({ name }) => name) : head.map((name) => name.trim());
    const people = bare ? [head, ...rows] : rows;
    return people.map((cells, n) => this.fromRow(Object.fromEntries(names.map((name, i) => [name, (cells[i] ?? "").trim()])), n));
  }

  // the column of a name or a label
  column(text) {
    const same = (other) => String(other).trim().toLowerCase() === String(text).trim().toLowerCase();
    return this.desk.features().find((one) => same(one.name) || same(one.label) || same(one.short));
  }

  // columns by their name or label; what is no value stays as it was typed, to be looked at
  fromRow(given, place = 0) {
    const form = { row: {}, typed: {}, why: {}, locked: [], applied: this.decided };
    let name = "";
    for (const [key, value] of Object.entries(given)) {
      const feature = this.column(key);
      if (!feature) {
        if (/^(id|name|case|fall|person|applicant)$/i.test(key)) name = String(value);
        else if (!this.unknown.includes(key)) this.unknown.push(key);
      } else this.place(form, feature, value);
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

  decider() {
    const select = h("select", { id: "cases-decided", "data-tool": "decided", autocomplete: "off", on: { change: () => this.decide(select.value) } },
      ["not_yet", "refused"].map((value) => h("option", { value }, t(`cases_${value}`))));
    select.value = this.decided;
    return [h("label", { class: "label", for: "cases-decided" }, t("cases_decided")), h("span", { class: "pick" }, select)];
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
    box.replaceChildren(h("details", { class: "section", prop: { open: opened || this.list.length > 0 } },
      h("summary", null, h("span", { class: "section-name" }, t("cases_title")), h("span", { class: "hint" }, this.list.length || "")),
      h("div", { class: "drop" }, h("p", { class: "hint" }, t("cases_text")), file,
        h("label", { class: "quiet-button small file-button", for: "cases-file" }, t("cases_choose")), this.button("cases_add", () => this.add())),
      h("label", { class: "label", for: "cases-paste" }, t("cases_paste")), paste,
      this.button("cases_read", () => { if (paste.value.trim()) this.read(paste.value, ""); }),
      h("p", { class: "hint", role: "status", id: "cases-note" }, progress ? t(progress.word, progress) : this.note),
      progress ? h("progress", { id: "cases-bar", max: progress.all, "aria-label": t("cases_title"), prop: { value: progress.done } }) : null,
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
