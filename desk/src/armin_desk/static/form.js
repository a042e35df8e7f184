// The form, made from the schema. An empty field is a blank: not told, not known, or kept private.

import { byId, capital, h } from "./dom.js";
import { Entry } from "./entry.js";
import { t } from "./words.js";

export const title = (feature) => capital(feature.label || feature.name);

const MANY = 9; // from here on, fields stand in two columns where there is room

export class Form {
  // onEdit() after any entry, onLock(focus) after "I cannot change this"; focus: whether the reader is to be taken to the answer
  constructor(container, features, { onEdit, onLock }) {
    this.container = container;
    this.features = features;
    this.onEdit = onEdit;
    this.onLock = onLock;
    this.applied = byId("applied"); // what was decided, which everything depends on
    this.applied.addEventListener("change", () => { this.complain(""); onEdit(); });
    this.locked = new Set();
    this.folded = new Set(); // sections that the reader has closed
    this.entries = new Map(features.map((feature) => [feature.name, { value: null, text: "", why: "" }]));
    this.fields = new Map();
    this.render();
  }

  // what stands in the form, so that it can be kept and brought back
  state() {
    return { row: this.row(), locked: this.lockedNames(), typed: this.typed(), why: this.reasons(), applied: this.decided() };
  }

  // "refused", "not_yet", "accepted", or "" as long as nobody has said it
  decided() {
    return this.applied.querySelector("input:checked")?.value ?? "";
  }

  complain(text) {
    byId("applied-error").textContent = text;
    this.applied.classList.toggle("is-wrong", Boolean(text));
  }

  restore({ row, locked = [], typed = {}, why = {}, applied = "" }) {
    for (const input of this.applied.querySelectorAll("input")) input.checked = input.value === applied;
    this.complain("");
    this.locked = new Set(locked.filter((name) => this.feature(name)));
    for (const feature of this.features) {
      const value = row[feature.name] ?? null;
      this.entries.set(feature.name, {
        value: value === "" ? null : value, text: typed[feature.name] ?? "", why: why[feature.name] ?? "",
      });
    }
    this.render();
  }

  clear() { this.restore({ row: {} }); }

  load(row) { this.restore({ row }); }

  row() {
    return Object.fromEntries(this.features.map(({ name }) => [name, this.entries.get(name).value]));
  }

  // texts that are no value yet
  typed() {
    const open = this.features.filter(({ name }) => this.entries.get(name).text && this.entries.get(name).value === null);
    return Object.fromEntries(open.map(({ name }) => [name, this.entries.get(name).text]));
  }

  reasons() {
    const given = this.features.filter(({ name }) => this.entries.get(name).value === null && this.entries.get(name).why);
    return Object.fromEntries(given.map(({ name }) => [name, this.entries.get(name).why]));
  }

  isEmpty() {
    return this.features.every(({ name }) => this.entries.get(name).value === null && !this.entries.get(name).text) && !this.locked.size;
  }

  lockedNames() {
    return this.features.filter((feature) => this.locked.has(feature.name)).map((feature) => feature.name);
  }

  feature(name) { return this.features.find((feature) => feature.name === name); }

  // every empty field shows how it is understood
  markBlanks() {
    for (const field of this.fields.values()) field.mark();
  }

  errors() {
    const first = this.decided() ? [] : [{ name: "", message: t("applied_error") }];
    return first.concat(this.features.flatMap((feature) => {
      const message = this.fields.get(feature.name).fault();
      return message ? [{ name: feature.name, message }] : [];
    }));
  }

  showErrors(found) {
    const errors = found.filter((each) => each.name === "");
    this.complain(errors.length ? errors[0].message : "");
    for (const feature of this.features) {
      const error = found.find((each) => each.name === feature.name);
      this.fields.get(feature.name).complain(error ? error.message : "");
      if (error) errors.push(error);
    }
    const summary = byId("form-errors");
    summary.replaceChildren();
    if (!errors.length) return;
    const head = h("p", { tabindex: "-1" }, t("error_summary", { n: errors.length }));
    summary.append(head, h("ul", null, errors.map((error) => h("li", null,
      h("a", {
        href: error.name ? `#${this.fields.get(error.name).id}` : "#applied",
        on: { click: (event) => { event.preventDefault(); this.focus(error.name); } },
      }, error.message)))));
    head.focus({ preventScroll: true });
    summary.scrollIntoView({ block: "center" });
  }

  focus(name) {
    if (name === "") this.applied.querySelector("input").focus();
    const field = this.fields.get(name);
    if (!field) return;
    const section = field.box.closest("details");
    if (section) section.open = true;
    field.focus();
  }

  setLock(name, on, focus = false) {
    if (on) this.locked.add(name);
    else this.locked.delete(name);
    const lock = this.locks.get(name);
    if (lock) lock.checked = on;
    this.showLocks();
    this.onLock(focus);
  }

  // sections in the order in which they first occur; what a plan can never change comes last
  sections() {
    const grouped = this.features.some((feature) => feature.section);
    const found = new Map();
    for (const feature of this.features) {
      const name = grouped ? feature.section || t("section_other") : feature.mutable ? t("section_free") : t("section_fixed");
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(feature);
    }
    const late = (list) => (list.every((feature) => !feature.mutable) ? 1 : 0);
    for (const list of found.values()) {
      list.sort((a, b) => (a.order ?? 1e9) - (b.order ?? 1e9) || Number(!a.mutable) - Number(!b.mutable));
    }
    return [...found].sort((a, b) => late(a[1]) - late(b[1]));
  }

  render() {
    this.fields.clear();
    this.locks = new Map();
    const sections = this.sections();
    const boxes = new Map(this.features.map((feature, index) => [feature.name, this.field(feature, `f${index}`)]));
    const list = (features) => h("div", { class: "fields-list" }, features.map((feature) => boxes.get(feature.name)));
    this.container.classList.toggle("is-many", this.features.length >= MANY);
    const simple = sections.length < 2 || this.features.length < MANY;
    const parts = simple
      ? [list(sections.flatMap(([, features]) => features))]
      : sections.map(([name, features]) => this.section(name, features, list(features)));
    this.container.replaceChildren(...parts, this.lockBox());
    byId("form-errors").replaceChildren();
    this.showLocks();
  }

  section(name, features, list) {
    const count = h("span", { class: "hint" });
    const box = h("details", { class: "section", prop: { open: !this.folded.has(name) } },
      h("summary", null, h("span", { class: "section-name" }, name), count), list);
    box.addEventListener("toggle", () => { if (box.open) this.folded.delete(name); else this.folded.add(name); tally(); });
    const tally = () => {
      const told = features.filter((feature) => this.entries.get(feature.name).value !== null).length;
      count.textContent = t("section_told", { told, all: features.length });
    };
    list.addEventListener("input", tally);
    list.addEventListener("change", tally);
    tally();
    return box;
  }

  field(feature, id) {
    const field = new Entry(feature, id, this.entries.get(feature.name), title(feature), () => this.onEdit());
    this.fields.set(feature.name, field);
    return field.box;
  }

  // one place for all that this person cannot change; each step of a plan has its own button as well
  lockBox() {
    const free = this.features.filter((feature) => feature.mutable);
    if (!free.length) return "";
    const items = free.map((feature, index) => {
      const input = h("input", {
        type: "checkbox", role: "switch", id: `lock${index}`, autocomplete: "off", "aria-label": `${t("lock")}: ${title(feature)}`,
        on: { change: () => this.setLock(feature.name, input.checked) },
      });
      input.checked = this.locked.has(feature.name);
      this.locks.set(feature.name, input);
      return h("li", null, h("label", { class: "switch" }, input,
        h("span", { class: "track", "aria-hidden": "true" }), h("span", null, capital(feature.short || feature.label))));
    });
    const count = h("span", { class: "hint" });
    this.lockCount = count;
    const box = h("details", { class: "section locks", id: "locks", prop: { open: !this.folded.has("locks") && this.locked.size > 0 } },
      h("summary", null, h("span", { class: "section-name" }, t("locks_title")), count),
      h("p", { class: "hint" }, t("locks_text")), h("ul", null, items));
    return box;
  }

  showLocks() {
    if (this.lockCount) this.lockCount.textContent = this.locked.size ? t("locks_count", { n: this.locked.size }) : "";
    for (const [name, field] of this.fields) field.box.classList.toggle("is-locked", this.locked.has(name));
  }
}
