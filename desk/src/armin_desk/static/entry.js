// One field of the form: a value, or a blank and why it is one.

import { h } from "./dom.js";
import { parse, write } from "./numbers.js";
import { current, t } from "./words.js";

const isNumber = (feature) => feature.kind === "integer" || feature.kind === "continuous";
const WHY = ["", "unknown", "private"];
const whyWord = { "": "not_told", unknown: "not_known", private: "blank" };

export class Entry {
  // entry: { value, text, why }, shared with the form; a text that is no value yet leaves value at null
  constructor(feature, id, entry, label, onEdit) {
    this.feature = feature;
    this.id = id;
    this.entry = entry;
    this.label = label;
    this.onEdit = onEdit;
    this.found = null; // how the text was read
    this.typing = false; // what nobody typed need not be said back
    const described = `${id}-hint ${id}-echo ${id}-care ${id}-error`;
    this.echo = h("p", { class: "echo", id: `${id}-echo` });
    this.care = h("p", { class: "care", id: `${id}-care` });
    this.error = h("p", { class: "error", id: `${id}-error` });
    const control = isNumber(feature) || feature.kind === "carried" ? this.text(described) : this.list(described);
    this.inputs = control.inputs;
    this.write = control.write;
    const hint = [feature.asks, feature.hint, feature.example ? t("example", { text: feature.example }) : ""].filter(Boolean);
    this.box = h(control.group ? "fieldset" : "div", { class: "field", "data-feature": feature.name },
      control.group
        ? h("legend", { class: "label" }, label)
        : h("label", { class: "label", for: id }, label),
      control.element,
      h("p", { class: "hint", id: `${id}-hint` }, hint.join(" ")),
      this.echo, this.care, this.error,
    );
    if (control.group) this.box.setAttribute("aria-describedby", described);
    // a text that was no number in one language may be one in another
    if (isNumber(feature) && entry.text && entry.value === null) entry.value = this.read(entry.text);
    this.write();
    this.show();
  }

  focus() {
    this.inputs[0].focus({ preventScroll: true });
    this.box.scrollIntoView({ block: "center" });
  }

  // ---------------------------------------------------------------- values

  tell(value, text = "") {
    this.entry.value = value;
    this.entry.text = text;
    if (value !== null) this.entry.why = "";
    this.complain("");
    this.show();
    this.onEdit();
  }

  read(text) {
    this.found = parse(text, { language: current(), unit: this.feature.unit || "" });
    return this.found.kind === "number" ? this.found.value : null;
  }

  mark() {
    this.box.classList.toggle("is-blank", this.entry.value === null && !this.entry.text);
  }

  // what is wrong with the entry, in a sentence; "" if nothing is
  fault() {
    const { feature, entry } = this;
    if (!isNumber(feature) && feature.kind !== "carried" && entry.text && entry.value === null) return t("not_listed", { label: this.label, text: entry.text });
    if (!isNumber(feature) || (!entry.text && entry.value === null)) return "";
    if (entry.value === null) return this.found && this.found.kind === "unclear" ? t("unclear", { label: this.label, text: entry.text }) : feature.errors.number;
    const below = (feature.lower ?? null) !== null && entry.value < feature.lower;
    const above = (feature.upper ?? null) !== null && entry.value > feature.upper;
    if (below || above) return feature.errors.range;
    return feature.kind === "integer" && !Number.isInteger(entry.value) ? feature.errors.whole : "";
  }

  complain(message) {
    this.error.textContent = message;
    this.box.classList.toggle("has-error", Boolean(message));
    for (const input of this.inputs) {
      if (message) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }

  show() {
    const { entry } = this;
    this.box.classList.toggle("is-told", entry.value !== null);
    this.mark();
    if (this.why) {
      this.why.value = entry.why;
      this.why.hidden = entry.value !== null || Boolean(entry.text);
    }
    this.echo.replaceChildren(...this.echoed());
    this.care.textContent = this.isBeyond() ? this.feature.beyond : "";
  }

  // a value that can be, but that the model has not seen: said, not refused
  isBeyond() {
    const { entry: { value }, feature } = this;
    return isNumber(feature) && value !== null && !this.fault() && (value < feature.seen[0] || value > feature.seen[1]);
  }

  // a number is said back as it was understood; one that can be read in two ways is asked about
  echoed() {
    const { entry, feature } = this;
    if (!isNumber(feature) || !entry.text) return [];
    const said = (value) => t("number_said", { number: write(value, current()), unit: feature.unit ? `\u00a0${feature.unit}` : "" });
    if (entry.value !== null) return !this.typing || entry.text === String(entry.value) && Math.abs(entry.value) < 1000 ? [] : [said(entry.value)];
    if (!this.found || this.found.kind !== "unclear") return [];
    return [t("unclear_ask"), " ", ...this.found.values.map((value) => h("button", {
      type: "button", class: "quiet-button small",
      on: { click: () => { this.tell(value, write(value, current())); this.write(); this.focus(); } },
    }, said(value)))];
  }

  // ---------------------------------------------------------------- controls

  text(described) {
    const { feature, id, entry } = this;
    const number = isNumber(feature);
    const negative = (feature.lower ?? -1) < 0;
    const input = h("input", {
      type: "text", id, inputmode: !number || negative ? null : feature.kind === "integer" ? "numeric" : "decimal", autocomplete: "off",
      maxlength: number ? 60 : 1000, spellcheck: "false", "aria-describedby": described,
      on: {
        input: () => {
          const text = input.value;
          this.typing = true;
          if (number) this.tell(this.read(text), text.trim() ? text : "");
          else this.tell(text === "" ? null : text, text);
        },
      },
    });
    this.why = h("select", {
      class: "why", id: `${id}-why`, autocomplete: "off", "aria-label": `${t("why_blank")}: ${this.label}`,
      on: { change: () => { entry.why = this.why.value; this.onEdit(); } },
    }, WHY.map((why) => h("option", { value: why }, t(whyWord[why]))));
    const unit = feature.unit ? h("span", { class: "unit", "aria-hidden": "true" }, feature.unit) : null;
    const write_ = () => {
      if (entry.value !== null) input.value = number ? write(entry.value, current()) : String(entry.value);
      else input.value = entry.text;
      if (number && entry.value !== null) entry.text = input.value;
    };
    return { element: h("div", { class: "entry" }, input, unit, h("span", { class: "pick why-box" }, this.why)), inputs: [input], write: write_, group: false };
  }

  list(described) {
    const { feature, id, entry } = this;
    const values = (feature.categories || []).map((category) => category.value);
    const words = (feature.categories || []).map((category) => String(category.label ?? category.value));
    const place = () => {
      const same = values.indexOf(entry.value);
      return same >= 0 || entry.value === null ? same : values.findIndex((value) => String(value) === String(entry.value));
    };
    const pick = (key) => {
      if (key in whyWord) entry.why = key;
      this.tell(key in whyWord ? null : values[Number(key)]);
    };
    // a value of a prepared row may be written otherwise than the schema's
    if (entry.value !== null) entry.value = place() >= 0 ? values[place()] : null;
    if (feature.kind === "binary") {
      const keys = [...words.keys()].map(String).concat(WHY);
      const inputs = keys.map((key, i) => h("input", {
        type: "radio", name: id, id: i ? `${id}-${i}` : id, value: key, autocomplete: "off", on: { change: () => pick(key) },
      }));
      const write_ = () => inputs.forEach((input, i) => { input.checked = keys[i] === (place() < 0 ? entry.why : String(place())); });
      // why something is blank is asked only where it is
      const look = (key) => (key in whyWord ? `choice is-none${key ? " is-why" : ""}` : "choice");
      const element = h("div", { class: "choices" }, inputs.map((input, i) =>
        h("label", { class: look(keys[i]), for: input.id }, input, h("span", null, keys[i] in whyWord ? t(whyWord[keys[i]]) : words[i]))));
      return { element, inputs, write: write_, group: true };
    }
    const select = h("select", {
      id, autocomplete: "off", "aria-describedby": described, on: { change: () => pick(select.value) },
    },
    h("option", { value: "" }, t("not_told")), words.map((word, i) => h("option", { value: i }, word)),
    h("optgroup", { label: t("why_blank") }, WHY.slice(1).map((why) => h("option", { value: why }, t(whyWord[why])))));
    const write_ = () => { select.value = place() >= 0 ? String(place()) : entry.why; };
    return { element: h("div", { class: "entry" }, h("span", { class: "pick" }, select)), inputs: [select], write: write_, group: false };
  }
}
