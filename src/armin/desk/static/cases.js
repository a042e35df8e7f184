// Several people at once: read from files, worked through, saved to files. All of it lives in this page.

import { byId, h, say } from "./dom.js";
import { parse } from "./numbers.js";
import { current, said, t } from "./words.js";

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

export function save(name, text, type) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export class Cases {
  // desk: { features(), show(case), current(), answer(form, signal), letters(cases) }
  constructor(desk) {
    this.desk = desk;
    this.list = []; // { name, form, answer, failed }
    this.shown = null;
    this.unsaved = false;
    this.control = null;
    this.note = "";
    window.addEventListener("beforeunload", (event) => { if (this.unsaved) event.preventDefault(); });
  }

  // ---------------------------------------------------------------- reading

  async take(file) { this.read(await file.text(), file.name); }

  read(text, name) {
    try {
      const body = text.replace(/^\ufeff/, "").trim();
      const cases = /^[[{]/.test(body) ? this.fromJson(JSON.parse(body)) : this.fromTable(readTable(body));
      if (!cases.length) throw new Error(name);
      this.list.push(...cases);
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
    if (data.format === FORMAT) return data.cases.map((one) => ({ answer: null, failed: false, ...one }));
    const rows = Array.isArray(data) ? data : [data];
    return rows.map((row) => this.fromRow(row.row && typeof row.row === "object" ? row.row : row));
  }

  fromTable([head, ...rows]) {
    const names = head.map((name) => name.trim());
    this.unknown = [];
    return rows.map((cells) => this.fromRow(Object.fromEntries(names.map((name, i) => [name, (cells[i] ?? "").trim()]))));
  }

  // columns by their name or label; what is no value stays as it was typed, to be looked at
  fromRow(given) {
    const form = { row: {}, typed: {}, why: {}, locked: [] };
    let name = "";
    for (const [key, value] of Object.entries(given)) {
      const same = (text) => String(text).trim().toLowerCase() === key.trim().toLowerCase();
      const feature = this.desk.features().find((one) => same(one.name) || same(one.label));
      if (!feature) {
        if (/^(id|name|case|fall|person|applicant)$/i.test(key)) name = String(value);
        else if (!this.unknown.includes(key)) this.unknown.push(key);
      } else this.place(form, feature, value);
    }
    return { name: name || t("case_name", { n: this.list.length + 1 }), form, answer: null, failed: false };
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

  state(one) {
    const wrong = this.faults(one);
    if (wrong) return t("case_look", { n: wrong });
    if (one.failed) return t("case_failed");
    return one.answer ? said(one.answer).headline : t("case_new");
  }

  async all() {
    this.control = new AbortController();
    const { signal } = this.control;
    const open = this.list.filter((one) => !one.answer && !this.faults(one));
    for (const [done, one] of open.entries()) {
      this.progress = t("cases_progress", { done, all: open.length });
      this.render();
      try {
        one.answer = await this.desk.answer(one.form, signal);
        one.failed = false;
        this.unsaved = true;
      } catch {
        if (signal.aborted) break;
        one.failed = true;
      }
    }
    this.control = null;
    this.progress = "";
    this.note = t("cases_progress", { done: this.list.filter((one) => one.answer).length, all: this.list.length });
    say(this.note);
    this.render();
  }

  open(one) {
    this.keep();
    this.shown = one;
    this.desk.show(one);
    say(t("case_opened", { name: one.name }));
    this.render();
  }

  // what stands in the form belongs to the case that is open
  keep() {
    if (!this.shown) return;
    const { form, answer } = this.desk.current();
    const content = ({ row, typed, locked, hardness }) => JSON.stringify([row, typed, locked, hardness ?? {}]);
    const whole = { row: Object.fromEntries(Object.keys(form.row).map((name) => [name, this.shown.form.row[name] ?? null])) };
    const same = content(form) === content({ ...this.shown.form, ...whole });
    if (!same) this.unsaved = true;
    // an answer belongs to the entries that it was worked out for
    Object.assign(this.shown, { form, answer: answer ?? (same ? this.shown.answer : null), failed: false });
  }

  add() {
    const { form, answer } = this.desk.current();
    this.list.push({ name: t("case_name", { n: this.list.length + 1 }), form, answer, failed: false });
    this.shown = this.list[this.list.length - 1];
    this.unsaved = true;
    this.render();
  }

  remove(one) {
    this.list = this.list.filter((other) => other !== one);
    if (this.shown === one) this.shown = null;
    this.render();
  }

  toFile() {
    this.keep();
    save("cases.json", JSON.stringify({ format: FORMAT, cases: this.list }, null, 1), "application/json");
    this.unsaved = false;
  }

  toTable() {
    this.keep();
    const features = this.desk.features();
    const head = [t("cases_case"), ...features.map((feature) => feature.name), t("cases_state"), t("compare_changes"), t("compare_cost"), t("compare_share")];
    const rows = this.list.map((one) => [
      one.name, ...features.map((feature) => one.form.typed[feature.name] ?? one.form.row[feature.name]), this.state(one),
      one.answer ? said(one.answer).changes.join(" ") : "", one.answer ? one.answer.cost.value : "", one.answer ? one.answer.share : "",
    ]);
    save("cases.csv", writeTable([head, ...rows]), "text/csv;charset=utf-8");
  }

  // ---------------------------------------------------------------- what is seen

  render() {
    const box = byId("cases");
    const busy = Boolean(this.control);
    const file = h("input", { type: "file", id: "cases-file", class: "unseen", accept: ".csv,.tsv,.txt,.json", on: { change: () => { if (file.files[0]) this.take(file.files[0]); } } });
    const paste = h("textarea", { id: "cases-paste", rows: 3, spellcheck: "false", autocomplete: "off" });
    const button = (word, click, look = "quiet-button small") => h("button", { type: "button", class: look, on: { click } }, t(word));
    const opened = box.querySelector("details")?.open ?? false;
    box.replaceChildren(h("details", { class: "section", prop: { open: opened || this.list.length > 0 } },
      h("summary", null, h("span", { class: "section-name" }, t("cases_title")), h("span", { class: "hint" }, this.list.length || "")),
      h("div", {
        class: "drop",
        on: {
          dragover: (event) => event.preventDefault(),
          drop: (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]); },
        },
      }, h("p", { class: "hint" }, t("cases_text")), file, h("label", { class: "quiet-button small file-button", for: "cases-file" }, t("cases_choose")),
      button("cases_add", () => this.add())),
      h("label", { class: "label", for: "cases-paste" }, t("cases_paste")), paste,
      button("cases_read", () => { if (paste.value.trim()) this.read(paste.value, ""); }),
      h("p", { class: "hint", role: "status", id: "cases-note" }, this.progress || this.note),
      this.list.length ? this.table() : null,
      this.list.length ? h("div", { class: "case-tools" },
        busy ? button("cases_stop", () => this.control.abort()) : button("cases_all", () => this.all(), "second-button small"),
        button("cases_save", () => this.toFile()), button("cases_table", () => this.toTable()),
        button("cases_letters", () => this.desk.letters(this.list.filter((one) => one.answer))),
        this.unsaved ? h("p", { class: "hint" }, t("cases_unsaved")) : null) : null,
    ));
  }

  table() {
    const head = ["cases_case", "cases_state"].map((word) => h("th", { scope: "col" }, t(word)));
    return h("div", { class: "table-box" }, h("table", { class: "compare cases" },
      h("thead", null, h("tr", null, head, h("td"))),
      h("tbody", null, this.list.map((one) => h("tr", { class: one === this.shown ? "is-shown" : null },
        h("th", { scope: "row" }, one.name),
        h("td", { class: this.faults(one) || one.failed ? "error" : null }, this.state(one)),
        h("td", null,
          h("button", { type: "button", class: "link-button", "aria-label": `${t("cases_open")}: ${one.name}`, on: { click: () => this.open(one) } }, t("cases_open")), " ",
          h("button", { type: "button", class: "link-button", "aria-label": `${t("cases_remove")}: ${one.name}`, on: { click: () => this.remove(one) } }, t("cases_remove"))))))));
  }
}
