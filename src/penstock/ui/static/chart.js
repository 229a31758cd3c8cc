// Line charts as SVG: a few lines on a calm grid, a cross-hair with values, and the same values as a table.
import { h, s } from "/static/dom.js";
import { iso, tick, time } from "/static/format.js";

const charts = new Map();
const HEIGHT = 168;
const PAD = { left: 46, right: 12, top: 10, bottom: 22 };

function nice(most) {
  if (!(most > 0)) return [0, 1];
  const rough = most / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const marks = [];
  for (let value = 0; value < most + step * 0.999; value += step) marks.push(value);
  return marks;
}

function path(points) {
  let d = "";
  let pen = false;
  for (const point of points) {
    if (!point) { pen = false; continue; }
    d += `${pen ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    pen = true;
  }
  return d;
}

function area(points, base) {
  let d = "";
  let run = [];
  const close = () => {
    if (run.length > 1) d += `${path(run)}L${run[run.length - 1][0].toFixed(1)} ${base}L${run[0][0].toFixed(1)} ${base}Z`;
    run = [];
  };
  for (const point of points) { if (point) run.push(point); else close(); }
  close();
  return d;
}

// { id, title, at, step, series: [{name, values, sort}], show, width }
export function chart(given) {
  const { id, title, at, series, show, width } = given;
  const inner = Math.max(60, width - PAD.left - PAD.right);
  const base = HEIGHT - PAD.bottom;
  const every = series.flatMap((each) => each.values).filter((value) => value !== null);
  const marks = nice(Math.max(0, ...every));
  const most = marks[marks.length - 1];
  const x = (place) => PAD.left + (at.length > 1 ? (place / (at.length - 1)) * inner : 0);
  const y = (value) => base - (value / most) * (base - PAD.top);
  const lines = series.map((each) => ({ ...each, points: each.values.map((value, place) => (value === null ? null : [x(place), y(value)])) }));
  charts.set(id, { ...given, x, y, lines, inner });
  const span = at.length ? at[at.length - 1] - at[0] : 0;
  const ticks = at.length ? [0, 1, 2, 3, 4].map((each) => Math.round((each * (at.length - 1)) / 4)) : [];
  const head = lines[0];
  const last = [...head.values].reverse().find((value) => value !== null);
  const said = every.length
    ? `${title}: ${head.name} was last ${show(last)}, at most ${show(Math.max(...head.values.filter((value) => value !== null)))}.`
    : `${title}: nothing was measured in this time.`;
  const drawing = s("svg", { class: "chart", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", tabindex: 0, "data-chart": id, "aria-label": `${said} Arrow keys go through the values.` },
    marks.map((value) => [
      s("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: Math.round(y(value)) + 0.5, y2: Math.round(y(value)) + 0.5 }),
      s("text", { class: "axis", x: PAD.left - 8, y: y(value) + 3.5, "text-anchor": "end" }, show(value)),
    ]),
    ticks.map((place, order) =>
      s("text", { class: "axis", x: x(place), y: HEIGHT - 5, "text-anchor": order === 0 ? "start" : order === 4 ? "end" : "middle" }, tick(at[place], span))),
    lines.map((each, order) => [
      order === 0 ? s("path", { class: `area ${each.sort}`, d: area(each.points, base) }) : null,
      s("path", { class: `line ${each.sort}`, d: path(each.points) }),
      lonely(each),
    ]),
    every.length ? null : s("text", { class: "axis", x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "nothing was measured in this time"),
    s("g", { class: "cross", "data-keep": "", "data-key": "cross" }));
  return h("figure", { class: "chart-box", "data-key": id },
    h("figcaption", {}, h("h3", {}, title),
      h("span", { class: "legend" }, series.map((each) => h("span", { class: `legend-item ${each.sort}` }, each.name)))),
    drawing, table(given));
}

// A value between two gaps would be a line without length.
function lonely(each) {
  return each.points
    .map((point, place) => (point && !each.points[place - 1] && !each.points[place + 1] ? point : null))
    .filter(Boolean)
    .map((point) => s("circle", { class: `dot ${each.sort}`, cx: point[0], cy: point[1], r: 2 }));
}

function table({ id, title, at, series, show }) {
  const rows = at.map((moment, place) => [moment, series.map((each) => each.values[place])])
    .filter(([, values]) => values.some((value) => value !== null)).reverse();
  return h("details", { class: "as-table" }, h("summary", {}, "As a table"),
    h("div", { class: "scroll short" },
      h("table", { "aria-label": title, "data-values": id },
        h("thead", {}, h("tr", {}, h("th", {}, "time"), series.map((each) => h("th", { class: "num" }, each.name)))),
        h("tbody", {}, rows.map(([moment, values]) =>
          h("tr", {}, h("td", {}, h("time", { datetime: iso(moment) }, time(moment))),
            values.map((value) => h("td", { class: "num" }, value === null ? "–" : show(value)))))))));
}

export function spark(values, width = 112, height = 28) {
  const known = values.filter((value) => value !== null);
  const most = Math.max(...known, 0);
  const label = known.length ? `rows a second, last ${known[known.length - 1]}, at most ${most}` : "nothing in the last half hour";
  const points = values.map((value, place) =>
    value === null ? null : [(place / Math.max(1, values.length - 1)) * (width - 2) + 1, height - 2 - (most ? value / most : 0) * (height - 5)]);
  return s("svg", { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    known.length > 1 ? [s("path", { class: "area a", d: area(points, height - 1) }), s("path", { class: "line a", d: path(points) })]
      : s("line", { class: "grid", x1: 1, x2: width - 1, y1: height - 2, y2: height - 2 }));
}

// The cross-hair.
const tip = () => document.getElementById("tip");
let shown = null;

export function hide() {
  if (!shown) return;
  shown.drawing.querySelector(".cross")?.replaceChildren();
  tip().classList.remove("is-on");
  shown = null;
}

function point(drawing, place) {
  const known = charts.get(drawing.getAttribute("data-chart"));
  if (!known || !known.at.length) return;
  if (shown && shown.drawing !== drawing) hide();
  const at = Math.max(0, Math.min(known.at.length - 1, place));
  shown = { drawing, place: at };
  const left = known.x(at);
  drawing.querySelector(".cross").replaceChildren(
    s("line", { x1: left, x2: left, y1: PAD.top, y2: HEIGHT - PAD.bottom }),
    ...known.lines.filter((each) => each.points[at]).map((each) => s("circle", { class: `dot ${each.sort}`, cx: left, cy: each.points[at][1], r: 3.5 })));
  const box = tip();
  box.replaceChildren(h("strong", {}, time(known.at[at])),
    ...known.lines.map((each) => h("span", { class: `legend-item ${each.sort}` }, each.name, h("b", {}, each.values[at] === null ? "–" : known.show(each.values[at])))));
  box.classList.add("is-on");
  const frame = drawing.getBoundingClientRect();
  const wide = box.offsetWidth;
  const x = frame.left + left + 14 + wide > innerWidth ? frame.left + left - wide - 14 : frame.left + left + 14;
  box.style.left = `${Math.max(4, x)}px`;
  box.style.top = `${Math.max(4, frame.top + 6)}px`;
}

export function listen() {
  document.addEventListener("pointermove", (event) => {
    const drawing = event.target.closest?.("svg[data-chart]");
    if (!drawing) { if (shown && document.activeElement !== shown.drawing) hide(); return; }
    const known = charts.get(drawing.getAttribute("data-chart"));
    const left = event.clientX - drawing.getBoundingClientRect().left - PAD.left;
    point(drawing, Math.round((left / known.inner) * (known.at.length - 1)));
  });
  document.addEventListener("keydown", (event) => {
    const drawing = event.target.closest?.("svg[data-chart]");
    if (!drawing || !["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    const known = charts.get(drawing.getAttribute("data-chart"));
    const last = known.at.length - 1;
    const from = shown && shown.drawing === drawing ? shown.place : last + 1;
    point(drawing, { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key]);
    event.preventDefault();
  });
  document.addEventListener("focusout", hide);
  // A chart that gets the focus is scrolled into view: what the keys have shown by then moves along.
  addEventListener("scroll", () => {
    if (shown && document.activeElement === shown.drawing) point(shown.drawing, shown.place);
    else hide();
  }, { passive: true });
}
