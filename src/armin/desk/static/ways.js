// The other plans as cards, and the slider on the path.

import { staircase } from "./chart.js";
import { h } from "./dom.js";
import { said, t } from "./words.js";

// plans: [{ recourse, index }], the first is the one in force; null while loading, false if it failed
export function waysCard({ plans, choice, onChoose }) {
  const head = [h("h2", { id: "ways-title" }, t("ways_title"))];
  if (plans === null) return [...head, h("p", { class: "hint waiting" }, t("ways_wait"))];
  if (plans === false) return [...head, h("p", { class: "hint" }, t("ways_fail"))];
  if (plans.length < 2) return [...head, h("p", { class: "hint" }, t("ways_none"))];
  return [
    ...head,
    h("p", { class: "hint" }, t("ways_text")),
    h("div", { class: "ways", role: "radiogroup", "aria-labelledby": "ways-title" }, plans.map((plan, i) => {
      const input = h("input", {
        type: "radio", name: "way", value: i, autocomplete: "off", prop: { checked: i === choice },
        on: { change: () => onChoose(i) },
      });
      return h("label", { class: "way" }, input, h("span", { class: "way-body" },
        h("span", { class: "way-head" },
          h("span", { class: "way-name" }, t("way", { letter: String.fromCharCode(65 + i) })),
          h("span", { class: "way-cost" }, said(plan.recourse).cost)),
        said(plan.recourse).changes.map((sentence) => h("span", { class: "way-line" }, sentence)),
        i === 0 ? h("span", { class: "way-note" }, t("cheapest")) : null,
      ));
    })),
  ];
}

// the slider stays the same element while it is moved, so that it keeps the focus
export class Curve {
  constructor(box, path, { selected, onPick }) {
    this.box = box;
    this.path = path;
    this.selected = selected;
    this.moved = false; // at the start the slider may stand beside an answer without a plan
    this.onPick = onPick;
    this.build();
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.holder);
  }

  build() {
    const { points } = this.path;
    this.holder = h("div", { class: "chart-holder" });
    this.input = h("input", {
      type: "range", id: "sure-slider", min: 0, max: points.length - 1, step: 1, autocomplete: "off",
      prop: { value: String(this.selected) },
      on: { input: () => this.pick(Number(this.input.value)) },
    });
    this.output = h("p", { class: "point", id: "sure-point" });
    const { end } = said(this.path);
    this.box.replaceChildren(
      h("h2", null, t("curve_title")),
      h("p", { class: "hint" }, t("curve_text")),
      h("label", { for: "sure-slider", class: "label slider-label" }, t("slider")),
      this.input, this.output, this.holder,
      ...(end ? [h("p", { class: "hint" }, end)] : []),
      h("p", { class: "hint" }, t("cost_text")),
    );
    this.draw();
  }

  pick(index) {
    if (index === this.selected && this.moved) return;
    this.moved = true;
    this.selected = index;
    this.input.value = String(index);
    this.draw();
    this.onPick(index);
  }

  draw() {
    const { points, asked, end } = this.path;
    const words = said(this.path);
    const { value, short } = said(points[this.selected].recourse).point;
    this.input.setAttribute("aria-valuetext", value);
    this.output.replaceChildren(h("strong", null, value), h("span", { class: "point-short" }, short));
    const width = this.holder.clientWidth || 480;
    this.holder.replaceChildren(staircase(points, {
      width, asked, end, words, selected: this.selected, onPick: (index) => this.pick(index),
    }));
  }

  stop() {
    this.watch.disconnect();
  }
}
