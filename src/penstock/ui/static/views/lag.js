// Lag by topic and by partition: hundreds of them stay readable by grouping, sorting, filtering.
import { h } from "/static/dom.js";
import { ago, count, plural, rate, short, spoken } from "/static/format.js";
import { badge, command, empty, icon, panel, segments, share } from "/static/parts.js";

export const FIRST = 150;
const COLUMNS = [
  ["name", "Partition"], ["rows", "Lag, rows"], ["seconds", "Waits"], ["arrival_per_second", "Comes/s"], ["read_per_second", "Read/s"],
  ["catch_up_seconds", "Caught up in"], ["runway_seconds", "Runway"], ["position", "Position"], ["end", "End"], ["group_offsets", "Group"],
];
const TOPIC_COLUMNS = COLUMNS.filter(([key]) => !["position", "end", "group_offsets"].includes(key));

export function lagTab(data, ui, lag) {
  if (!lag) return h("p", { class: "loading" }, "Reading …");
  if (!lag.partitions.length) return empty("The lag was not measured yet.", "The running pipeline asks the broker every few seconds. From any shell:", command(`penstock lag ${data.file || "FILE"}`));
  const wanted = ui.lag.filter.toLowerCase();
  const matches = (part) => `${part.topic}-${part.partition}`.toLowerCase().includes(wanted);
  const parts = lag.partitions.filter((part) => !wanted || matches(part));
  const most = Math.max(1, ...lag.partitions.map((part) => part.rows));
  const body = ui.lag.mode === "topic" ? byTopic(lag, parts, ui, most) : flat(parts, ui, most);
  const hot = lag.partitions.filter((part) => part.hot).length;
  return panel("Lag by partition", [
    h("p", { class: "foot head" }, `${plural(parts.length, "partition")}${wanted ? ` of ${count(lag.partitions.length)}` : ""} of ${plural(new Set(parts.map((part) => part.topic)).size, "topic")}`,
      hot ? [" · ", h("span", { class: "warn" }, `${count(hot)} hot`)] : null, ` · measured ${ago(lag.at)}`),
    lag.unknown.map((text) => h("div", { class: "notice is-warn" }, icon("dead"), h("div", {}, `Not known: ${text}`))),
    parts.length ? body : empty(`No partition matches “${ui.lag.filter}”.`),
  ], [
    h("input", { class: "filter", type: "search", id: "filter", "data-input": "lag-filter", placeholder: "Filter topics  ( / )", "aria-label": "Filter partitions by topic", value: ui.lag.filter, autocomplete: "off" }),
    segments("lag-mode", [["topic", "By topic"], ["all", "Partitions"]], ui.lag.mode, "How to show them")]);
}

const value = (row, key) => (key === "name" ? null : row[key] === null || row[key] === undefined ? -1 : row[key]);

function sorted(rows, ui) {
  const { sort, down } = ui.lag;
  const turn = down ? -1 : 1;
  return [...rows].sort((one, other) => {
    const hot = sort === "rows" && down ? Number(Boolean(other.hot)) - Number(Boolean(one.hot)) : 0;
    const by = sort === "name" ? 0 : turn * (value(one, sort) - value(other, sort));
    const names = one.topic.localeCompare(other.topic) || (one.partition ?? 0) - (other.partition ?? 0);
    return hot || by || (sort === "name" ? turn * names : names);
  });
}

function head(ui, columns) {
  return h("thead", {}, h("tr", {}, columns.map(([key, text]) => {
    const chosen = ui.lag.sort === key;
    return h("th", { class: key === "name" ? "" : "num", "aria-sort": chosen ? (ui.lag.down ? "descending" : "ascending") : "none" },
      h("button", { type: "button", class: "sort", "data-act": "lag-sort", "data-arg": key }, text, h("span", { class: "sort-mark", "aria-hidden": "true" }, chosen ? (ui.lag.down ? " ↓" : " ↑") : "")));
  })));
}

function flat(parts, ui, most) {
  const rows = sorted(parts, ui);
  const shown = ui.lag.all ? rows : rows.slice(0, FIRST);
  return [h("div", { class: "scroll" }, h("table", { class: "wide dense", id: "partitions" }, head(ui, COLUMNS),
    h("tbody", {}, shown.map((part) => partition(part, most, COLUMNS))))),
  shown.length < rows.length ? h("button", { type: "button", class: "more", "data-act": "lag-all" }, `Show all ${count(rows.length)}`) : null];
}

function partition(part, most, columns) {
  const full = columns.length === COLUMNS.length;
  return h("tr", { "data-key": `${part.topic}/${part.partition}`, class: part.hot ? "is-hot" : "" },
    h("td", { class: full ? "mono" : "mono inset" }, full ? [part.topic, h("span", { class: "faint" }, `-${part.partition}`)] : `partition ${part.partition}`,
      part.hot ? badge("hot", "is-warn") : null, part.lost ? badge(`${short(part.lost)} lost`, "is-bad") : null, part.held ? badge(`${short(part.held)} held`) : null),
    h("td", { class: "num bar-cell" }, share(part.rows, most, part.hot ? "is-warn" : ""), `${part.estimated ? "~" : ""}${count(part.rows)}`),
    h("td", { class: "num" }, spoken(part.seconds)),
    h("td", { class: "num" }, rate(part.arrival_per_second)),
    h("td", { class: "num" }, rate(part.read_per_second)),
    h("td", { class: "num" }, part.rows ? spoken(part.catch_up_seconds) : "–"),
    runway(part.runway_seconds, part.runway_known),
    full ? [h("td", { class: "num mono" }, part.position), h("td", { class: "num mono" }, part.end), h("td", { class: "num mono" }, count(part.group_offsets))] : null);
}

const runway = (seconds, known) => h("td", { class: "num" }, seconds !== null ? h("span", { class: "bad" }, spoken(seconds)) : known ? "safe" : "–");

function byTopic(lag, parts, ui, most) {
  const inside = new Map();
  for (const part of parts) inside.set(part.topic, [...(inside.get(part.topic) || []), part]);
  const topics = sorted(lag.topics.filter((topic) => inside.has(topic.topic)), ui);
  const top = Math.max(1, ...topics.map((topic) => topic.rows));
  return h("div", { class: "scroll" }, h("table", { class: "wide dense", id: "topics" }, head(ui, TOPIC_COLUMNS.map(([key, text]) => [key, key === "name" ? "Topic" : text])),
    h("tbody", {}, topics.map((topic) => {
      const open = ui.lag.open.has(topic.topic);
      return [group(topic, open, top, inside.get(topic.topic).some((part) => part.runway_known)), open ? sorted(inside.get(topic.topic), ui).map((part) => partition(part, most, TOPIC_COLUMNS)) : null];
    }))));
}

function group(topic, open, top, known) {
  return h("tr", { "data-key": `topic ${topic.topic}`, class: "group" },
    h("td", {}, h("button", { type: "button", class: "fold", "data-act": "lag-open", "data-arg": topic.topic, "aria-expanded": String(open) }, h("span", { class: "fold-mark", "aria-hidden": "true" }, open ? "▾" : "▸"), h("span", { class: "mono" }, topic.topic)),
      h("span", { class: "faint" }, ` ${count(topic.behind)}/${count(topic.partitions)} behind`), topic.hot ? badge(`${topic.hot} hot`, "is-warn") : null,
      topic.trend !== "steady" ? badge(topic.trend, topic.trend === "growing" ? "is-bad" : "") : null),
    h("td", { class: "num bar-cell" }, share(topic.rows, top, topic.hot ? "is-warn" : ""), count(topic.rows)),
    h("td", { class: "num" }, spoken(topic.seconds)),
    h("td", { class: "num" }, rate(topic.arrival_per_second)),
    h("td", { class: "num" }, rate(topic.read_per_second)),
    h("td", { class: "num" }, topic.rows ? spoken(topic.catch_up_seconds) : "–"),
    runway(topic.runway_seconds, known));
}
