// The other plans as cards, and the slider on the path.

import { lowest, staircase } from "./chart.js";
import { h } from "./dom.js";
import { costMark, current, said, t } from "./words.js";

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
          h("span", { class: "way-cost" }, said(plan.recourse).effort)),
        bar(plan.recourse, plans),
        said(plan.recourse).changes.map((sentence) => h("span", { class: "way-line" }, sentence)),
        i === 0 ? h("span", { class: "way-note" }, t("cheapest")) : null,
      ));
    })),
    table(plans),
  ];
}

// effort as a bar, beside the hardest plan
function bar(recourse, plans) {
  const most = Math.max(...plans.map((plan) => plan.recourse.cost.value), 1e-12);
  const meter = h("meter", { class: "effort", min: 0, max: 1, "aria-label": t("effort_bar") });
  meter.value = recourse.cost.value / most;
  return meter;
}

// the plans side by side, with their numbers
function table(plans) {
  // the share that the plan's own card states
  const share = ({ recourse: { said: words } }) => { const { full } = words[current()]; return full === null ? "" : t("percent", { number: full }); };
  const timed = plans.some((plan) => said(plan.recourse).time);
  const columns = ["plan", "changes", "effort", "share", ...(timed ? ["time"] : []), "cost"];
  const head = columns.map((word) => h("th", { scope: "col" }, t(`compare_${word}`)));
  return h("details", { class: "numbers" }, h("summary", null, t("compare_title")),
    h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": t("compare_title") }, h("table", { class: "compare" }, h("thead", null, h("tr", null, head)),
      h("tbody", null, plans.map((plan, i) => h("tr", null,
        h("th", { scope: "row" }, String.fromCharCode(65 + i)),
        h("td", null, said(plan.recourse).changes.map((sentence) => h("div", null, sentence))),
        h("td", null, said(plan.recourse).effort), h("td", null, share(plan)), timed ? h("td", null, said(plan.recourse).time) : null,
        h("td", null, costMark(plan.recourse.cost.value))))))));
}

const FINE = 10_000; // parts of the slider's scale

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
    // the slider stands over the chart: its scale is that of the shares, and it rests at points only
    this.input = h("input", {
      type: "range", id: "sure-slider", min: Math.round(lowest(points, this.path.asked) * FINE), max: FINE, step: 1, autocomplete: "off",
      on: { input: () => this.pick(this.nearest(Number(this.input.value) / FINE)), keydown: (event) => this.key(event) },
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

  nearest(share) {
    const { points } = this.path;
    const far = (i) => Math.abs(points[i].share - share);
    return points.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
  }

  // one key, one point
  key(event) {
    const last = this.path.points.length - 1;
    const to = {
      ArrowRight: this.selected + 1, ArrowUp: this.selected + 1, ArrowLeft: this.selected - 1, ArrowDown: this.selected - 1,
      PageUp: this.selected + 5, PageDown: this.selected - 5, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.pick(Math.min(Math.max(to, 0), last));
  }

  pick(index) {
    if (index === this.selected && this.moved) { this.place(); return; }
    this.moved = true;
    this.selected = index;
    this.draw();
    this.onPick(index);
  }

  place() {
    this.input.value = String(Math.round(this.path.points[this.selected].share * FINE));
    this.input.dataset.point = this.selected;
  }

  draw() {
    this.place();
    const { points, asked, end } = this.path;
    const words = said(this.path);
    const { value, short } = said(points[this.selected].recourse).point;
    this.input.setAttribute("aria-valuetext", value);
    this.output.replaceChildren(h("strong", null, value), h("span", { class: "point-short" }, short),
      bar(points[this.selected].recourse, points));
    const width = this.holder.clientWidth || 480;
    this.holder.replaceChildren(staircase(points, {
      width, asked, end, words, selected: this.selected, onPick: (index) => this.pick(index),
    }));
  }

  stop() {
    this.watch.disconnect();
  }
}
