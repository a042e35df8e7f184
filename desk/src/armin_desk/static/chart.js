// The staircase of cost against the share for which a plan works, and the hundred dots.

import { s } from "./dom.js";
import { costMark, shareMark, t } from "./words.js";

const HEIGHT = 250;
export const EDGE = { left: 46, right: 14, top: 22, bottom: 46 };

function ticks(top) {
  if (!(top > 0)) return [0];
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const list = [];
  for (let value = 0; value <= top * 1.0001; value += step) list.push(value);
  return list;
}

const NARROW = 330; // pixels below which every mark needs twice the room

function shares(low, wide) {
  const steps = [0.05, 0.1, 0.25, 0.5];
  const step = steps[(low >= 0.8 ? 0 : low >= 0.5 ? 1 : 2) + (wide < NARROW ? 1 : 0)];
  const list = [];
  for (let i = Math.round(low / step); i * step <= 1.0001; i += 1) list.push(i * step);
  return list;
}

// the first share worth drawing: a round share below the first step
export function lowest(points, asked) {
  const least = Math.min(...points.map((point) => point.share), asked ?? 1);
  if (least > 0.85) return 0.8;
  return least > 0.6 ? 0.5 : 0;
}

// points rise in cost; a point that is "beside" the stairs costs more than one that is as sure
export function staircase(points, { width, asked, end, words, selected, onPick }) {
  const wide = Math.max(260, width);
  const low = lowest(points, asked);
  const top = Math.max(...points.map((point) => point.cost), 0) * 1.12 || 1;
  const x = (share) => EDGE.left + ((share - low) / (1 - low)) * (wide - EDGE.left - EDGE.right);
  const y = (cost) => HEIGHT - EDGE.bottom - (cost / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const floor = HEIGHT - EDGE.bottom;

  const steps = points.filter((point) => !point.beside);
  let line = `M${x(low)} ${y(steps[0].cost)}`;
  steps.forEach((point, i) => {
    line += `H${x(point.share)}`;
    if (i + 1 < steps.length) line += `V${y(steps[i + 1].cost)}`;
  });
  const last = steps[steps.length - 1].share;
  const area = `${line}V${floor}H${x(low)}Z`;
  const chosen = points[selected];

  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const share = low + (((event.clientX - box.left) * (wide / box.width) - EDGE.left)
      / (wide - EDGE.left - EDGE.right)) * (1 - low);
    const found = points.findIndex((point) => !point.beside && point.share >= share - 1e-9);
    onPick(found < 0 ? points.indexOf(steps[steps.length - 1]) : found);
  };
  const svg = s("svg", {
    class: "chart", viewBox: `0 0 ${wide} ${HEIGHT}`, role: "img",
    "aria-label": words.chart,
    on: { click: nearest },
  });
  svg.append(
    ...ticks(top / 1.12).flatMap((cost) => [
      s("line", { class: "grid", x1: EDGE.left, x2: wide - EDGE.right, y1: y(cost), y2: y(cost) }),
      s("text", { class: "tick", x: EDGE.left - 8, y: y(cost) + 4, "text-anchor": "end" }, costMark(cost)),
    ]),
    ...shares(low, wide).map((share) => s("text", {
      class: "tick", x: x(share), y: floor + 18, "text-anchor": share > 0.97 ? "end" : "middle",
    }, shareMark(share))),
    s("text", { class: "axis", x: EDGE.left, y: 12 }, t("axis_y")),
    s("text", { class: wide < NARROW ? "axis is-narrow" : "axis", x: wide - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, t("axis_x")),
  );
  if (last < 0.9999 && end !== "optimal") {
    svg.append(s("rect", {
      class: end === "infeasible" ? "beyond" : "beyond unknown", x: x(last), y: EDGE.top, width: x(1) - x(last),
      height: floor - EDGE.top,
    }));
  }
  svg.append(s("path", { class: "area", d: area }), s("path", { class: "stairs", d: line }));
  if (asked !== null && asked !== undefined && asked >= low) {
    svg.append(
      s("line", { class: "asked", x1: x(asked), x2: x(asked), y1: EDGE.top, y2: floor }),
      s("text", { class: "asked-text", x: x(asked) - 6, y: EDGE.top + 10, "text-anchor": "end" },
        words.asked),
    );
  }
  svg.append(
    s("path", {
      class: "guide", d: `M${EDGE.left} ${y(chosen.cost)}H${x(chosen.share)}V${floor}`,
    }),
    ...points.map((point, i) => s("circle", {
      class: i === selected ? "dot is-on" : "dot", cx: x(point.share), cy: y(point.cost),
      r: i === selected ? 8 : points.length > 25 ? 2.5 : 4.5,
    })),
  );
  return svg;
}

// a share as a hundred dots: seeing is easier than a percentage
export function dots(full, label) {
  const svg = s("svg", { class: "dots", viewBox: "0 0 100 100", role: "img", "aria-label": label });
  for (let i = 0; i < 100; i += 1) {
    svg.append(s("circle", {
      class: i < full ? "yes" : "no", cx: 5 + 10 * (i % 10), cy: 5 + 10 * Math.floor(i / 10), r: 3.4,
    }));
  }
  return svg;
}
