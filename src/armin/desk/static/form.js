// The form, made from the schema. An empty field and "prefer not to say" are the same thing: a blank.

import { byId, capital, h } from "./dom.js";
import { t } from "./words.js";

const isCarried = (feature) => feature.kind === "carried"; // passed on as it is
const isNumber = (feature) => feature.kind === "integer" || feature.kind === "continuous";
export const title = (feature) => capital(feature.label || feature.name);

export class Form {
  // onEdit() after any entry, onLock(focus) after "I cannot change this"; focus: whether the reader is to be taken to the answer
  constructor(container, features, { onEdit, onLock }) {
    this.container = container;
    this.features = features;
    this.onEdit = onEdit;
    this.onLock = onLock;
    this.locked = new Set();
    this.entries = new Map();
    this.parts = new Map();
    this.clear();
  }

  // entries: text of a number, position of a category, or "" for a blank; "told" remembers what a switch hides
  clear() {
    this.locked.clear();
    for (const feature of this.features) this.entries.set(feature.name, { value: "", refused: false, told: "" });
    this.render();
  }

  load(row) {
    this.locked.clear();
    for (const feature of this.features) {
      const given = row[feature.name] ?? null;
      let value = "";
      if (given !== null && given !== "") {
        value = isNumber(feature) || isCarried(feature) ? String(given) : String(this.position(feature, given));
      }
      this.entries.set(feature.name, { value, refused: value === "", told: "", given });
    }
    this.render();
  }

  position(feature, given) {
    const list = feature.categories || [];
    const same = list.findIndex((category) => category.value === given);
    const found = same >= 0 ? same : list.findIndex((category) => String(category.value) === String(given));
    return found >= 0 ? found : "";
  }

  row() {
    const row = {};
    for (const feature of this.features) {
      const { value, given } = this.entries.get(feature.name);
      if (value === "") row[feature.name] = null;
      // a number stays a number as long as nobody edits it
      else if (isCarried(feature)) row[feature.name] = String(given ?? "") === value ? given : value;
      else row[feature.name] = isNumber(feature) ? Number(value) : feature.categories[Number(value)].value;
    }
    return row;
  }

  lockedNames() {
    return this.features.filter((feature) => this.locked.has(feature.name)).map((feature) => feature.name);
  }

  feature(name) {
    return this.features.find((feature) => feature.name === name);
  }

  // every empty field becomes "prefer not to say", so that the person sees how it is understood
  markBlanks() {
    for (const feature of this.features) {
      const entry = this.entries.get(feature.name);
      entry.refused = entry.value === "";
      this.parts.get(feature.name).show();
    }
  }

  errors() {
    const found = [];
    for (const feature of this.features.filter(isNumber)) {
      const part = this.parts.get(feature.name);
      const { value } = this.entries.get(feature.name);
      const number = Number(value);
      let message = "";
      if (part.input.validity.badInput || (value !== "" && !Number.isFinite(number))) {
        message = feature.errors.number;
      } else if (value !== "") {
        const below = (feature.lower ?? null) !== null && number < feature.lower;
        const above = (feature.upper ?? null) !== null && number > feature.upper;
        if (below || above) message = feature.errors.range;
        else if (feature.kind === "integer" && !Number.isInteger(number)) message = feature.errors.whole;
      }
      if (message) found.push({ name: feature.name, message });
    }
    return found;
  }

  showErrors(found) {
    const errors = [];
    for (const feature of this.features) {
      const error = found.find((each) => each.name === feature.name);
      this.parts.get(feature.name).complain(error ? error.message : "");
      if (error) errors.push(error);
    }
    const summary = byId("form-errors");
    summary.replaceChildren();
    if (!errors.length) return;
    summary.append(
      h("p", null, t("error_summary", { n: errors.length })),
      h("ul", null, errors.map((error) => h("li", null,
        h("button", { type: "button", class: "link-button", on: { click: () => this.focus(error.name) } }, error.message),
      ))),
    );
    this.focus(errors[0].name);
  }

  focus(name) {
    const part = this.parts.get(name);
    if (!part) return;
    part.input.focus({ preventScroll: true });
    part.box.scrollIntoView({ block: "center" });
  }

  setLock(name, on, focus = false) {
    if (on) this.locked.add(name);
    else this.locked.delete(name);
    const part = this.parts.get(name);
    if (part && part.lock) part.lock.checked = on;
    if (part) part.box.classList.toggle("is-locked", on);
    this.onLock(focus);
  }

  render() {
    this.parts.clear();
    this.container.replaceChildren(...this.features.map((feature, index) => this.field(feature, `f${index}`)));
    byId("form-errors").replaceChildren();
  }

  field(feature, id) {
    const entry = this.entries.get(feature.name);
    const part = { show: null, complain: null, lock: null, box: null, input: null };
    const edited = (value) => {
      entry.value = value;
      if (value !== "") entry.refused = false;
      part.show(true);
      part.complain("");
      this.onEdit();
    };
    const described = `${id}-hint ${id}-error`;
    const kinds = { carried: "textControl", integer: "numberControl", continuous: "numberControl" };
    const control = this[kinds[feature.kind] ?? "listControl"](feature, id, described, entry, part, edited);
    const blank = h("input", {
      type: "checkbox", role: "switch", id: `${id}-blank`, autocomplete: "off",
      on: {
        change: () => {
          entry.refused = blank.checked;
          if (blank.checked) { entry.told = entry.value; entry.value = ""; } else { entry.value = entry.told; }
          part.show();
          part.complain("");
          this.onEdit();
        },
      },
    });
    const error = h("p", { class: "error", id: `${id}-error` });
    const switches = h("div", { class: "switches" }, this.toggle(blank, t("blank"), feature));
    if (feature.mutable) {
      part.lock = h("input", {
        type: "checkbox", role: "switch", id: `${id}-lock`, autocomplete: "off",
        on: { change: () => this.setLock(feature.name, part.lock.checked) },
      });
      part.lock.checked = this.locked.has(feature.name);
      switches.append(this.toggle(part.lock, t("lock"), feature));
    }
    part.box = h(control.group ? "fieldset" : "div", { class: "field", "data-feature": feature.name },
      control.group
        ? h("legend", { class: "label" }, title(feature))
        : h("label", { class: "label", for: id }, title(feature)),
      control.element,
      h("p", { class: "hint", id: `${id}-hint` }, feature.hint),
      error,
      switches,
    );
    if (control.group) part.box.setAttribute("aria-describedby", described);
    part.show = (typing = false) => {
      blank.checked = entry.refused;
      part.box.classList.toggle("is-blank", entry.refused);
      if (!typing) control.write(entry.value);
    };
    part.complain = (message) => {
      error.textContent = message;
      part.box.classList.toggle("has-error", Boolean(message));
      for (const input of control.inputs) {
        if (message) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
    };
    part.box.classList.toggle("is-locked", this.locked.has(feature.name));
    this.parts.set(feature.name, part);
    part.show();
    return part.box;
  }

  toggle(input, text, feature) {
    input.setAttribute("aria-label", `${text}: ${title(feature)}`);
    return h("label", { class: "switch" }, input, h("span", { class: "track", "aria-hidden": "true" }), h("span", null, text));
  }

  numberControl(feature, id, described, entry, part, edited) {
    const whole = feature.kind === "integer";
    const input = h("input", {
      type: "number", id, inputmode: whole && !(feature.lower < 0) ? "numeric" : "decimal", autocomplete: "off",
      min: feature.lower ?? null, max: feature.upper ?? null, step: whole ? (feature.step ?? 1) : "any",
      placeholder: t("not_told"), "aria-describedby": described,
      on: { input: () => edited(input.value) },
    });
    part.input = input;
    const unit = feature.unit ? h("span", { class: "unit", "aria-hidden": "true" }, feature.unit) : null;
    const write = (value) => { input.value = value; };
    write(entry.value);
    return { element: h("div", { class: "entry" }, input, unit), inputs: [input], write, group: false };
  }

  textControl(feature, id, described, entry, part, edited) {
    const input = h("input", {
      type: "text", id, autocomplete: "off", maxlength: 1000, placeholder: t("not_told"), "aria-describedby": described,
      on: { input: () => edited(input.value) },
    });
    part.input = input;
    const write = (value) => { input.value = value; };
    write(entry.value);
    return { element: h("div", { class: "entry" }, input), inputs: [input], write, group: false };
  }

  listControl(feature, id, described, entry, part, edited) {
    const list = feature.categories || [];
    const words = list.map((category) => String(category.label ?? category.value));
    if (feature.kind === "binary") {
      const inputs = words.map((word, i) => h("input", {
        type: "radio", name: id, id: `${id}-${i}`, value: i, autocomplete: "off",
        on: { change: () => edited(String(i)) },
      }));
      [part.input] = inputs;
      const write = (value) => inputs.forEach((input, i) => { input.checked = String(i) === value; });
      const element = h("div", { class: "choices" },
        inputs.map((input, i) => h("label", { class: "choice", for: `${id}-${i}` }, input, h("span", null, words[i]))));
      return { element, inputs, write, group: true };
    }
    const select = h("select", {
      id, autocomplete: "off", "aria-describedby": described, on: { change: () => edited(select.value) },
    }, h("option", { value: "" }, t("not_told")), words.map((word, i) => h("option", { value: i }, word)));
    part.input = select;
    const write = (value) => { select.value = value; };
    write(entry.value);
    return { element: h("div", { class: "entry" }, select), inputs: [select], write, group: false };
  }
}
