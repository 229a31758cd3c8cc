// Small parts that several views share.
import { h, s } from "/static/dom.js";
import { ago, iso, time } from "/static/format.js";

const ICONS = {
  working: ["M4 8.4l2.6 2.6L12 5.4"],
  starting: ["M8 4.4V8h3"],
  paused: ["M6.2 5v6M9.8 5v6"],
  done: ["M4 8.4l2.6 2.6L12 5.4"],
  idle: ["M4 8h8"],
  waiting: ["M8 4.4V8l2.4 1.6"],
  stopped: ["M5.4 5.4h5.2v5.2H5.4z"],
  failed: ["M5 5l6 6M11 5l-6 6"],
  dead: ["M8 4v5M8 11.6v.1"],
  new: ["M8 4.6v6.8M4.6 8h6.8"],
};
const WORDS = {
  working: "Running", starting: "Starting", idle: "Idle", waiting: "Waiting", paused: "Paused", stopped: "Stopped", done: "Done", failed: "Failed", dead: "Dead", new: "Not run yet",
};

export const icon = (name, paths) =>
  s("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, (paths || ICONS[name]).map((d) => s("path", { d })));

// Between two batches nothing is in hand; that alone does not make a pipeline idle.
export function pill(each) {
  const status = each.status === "idle" && (each.lag_rows || each.rows_per_second) ? "working" : each.status;
  return h("span", { class: `pill is-${status}` }, icon(ICONS[status] ? status : "idle"), WORDS[status] || status);
}

export const badge = (text, sort) => h("span", { class: `badge ${sort || ""}` }, text);

export const when = (at) => (at ? h("time", { datetime: iso(at), title: iso(at) }, time(at)) : "–");
export const since = (at) => (at ? h("time", { datetime: iso(at), title: iso(at) }, ago(at)) : "–");

export const panel = (title, body, end) =>
  h("section", { class: "panel" },
    h("div", { class: "panel-head" }, h("h2", {}, title), end ? h("div", { class: "panel-end" }, end) : null), body);

export const figure = (label, value, note, sort) =>
  h("div", { class: `figure ${sort || ""}` },
    h("dt", {}, label), h("dd", {}, h("span", { class: "value" }, value), h("span", { class: "note" }, note || "\u00a0")));

// A sentence of the program's: two blanks stand before a command.
export function told(text) {
  return String(text).split("\n").filter((line) => line.trim()).map((line) => {
    const [words, ...commands] = line.trim().split(/ {2,}/);
    return h("span", { class: "told" }, words, commands.map((each) => [" ", h("code", {}, each)]));
  });
}

export const empty = (title, ...lines) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), lines.filter(Boolean).map((line) => h("p", {}, line)));

export const command = (text) => h("code", { class: "command" }, text);

export const notes = (list) =>
  (list || []).map((text) => h("div", { class: "notice is-warn" }, icon("dead"), h("div", {}, told(text))));

export const segments = (name, choices, chosen, label) =>
  h("div", { class: "segments", role: "group", "aria-label": label },
    choices.map(([value, text]) =>
      h("button", { type: "button", "data-act": name, "data-arg": value, "aria-pressed": String(value === chosen) }, text)));

export const share = (part, whole, sort) =>
  s("svg", { class: `share ${sort || ""}`, "aria-hidden": "true" },
    s("rect", { class: "share-back", width: "100%", height: "100%", rx: 2 }),
    s("rect", { class: "share-fore", width: `${whole ? Math.min(100, (100 * part) / whole) : 0}%`, height: "100%", rx: 2 }));
