// The way of the records: source, stages, sinks, and what leaves it on the way.
import { chart } from "/static/chart.js";
import { h } from "/static/dom.js";
import { count, largest, plural, precise, rate, short, spoken, time, total } from "/static/format.js";
import { badge, empty, panel, segments, when } from "/static/parts.js";

const SPANS = [["15m", "15 min"], ["1h", "1 h"], ["6h", "6 h"], ["24h", "24 h"], ["7d", "7 d"], ["30d", "30 d"]];

export function overviewTab(data, ui, history) {
  const flow = ui.flow === "last" ? data.flow_last : data.flow;
  return [
    panel("Flow", flow ? drawn(flow, data) : empty("No batch is committed yet.", "The flow is drawn from the first one on."),
      flow ? segments("flow", [["whole", `Generation ${data.generation}`], ["last", `Batch ${count(data.batch_id)}`]], ui.flow, "Which records") : null),
    history ? courses(data, ui, history) : h("p", { class: "loading" }, "Reading the history …"),
  ];
}

function drawn(flow, data) {
  const good = flow.stages[flow.stages.length - 1].went;
  return h("div", { class: "scroll" }, h("div", { class: "flow" },
    flow.stages.map((stage) => box(stage, flow.read)),
    h("div", { class: "flow-sinks" }, flow.sinks.map((sink) => sinkBox(sink, good))),
    h("div", { class: "flow-out" },
      h("a", { class: "leak-box", href: `/p/${data.id}/dead-letters`, "data-link": "" }, h("span", { class: "label" }, "Dead letters"), h("b", { class: total(flow.rejected) ? "bad" : "" }, count(total(flow.rejected))), h("span", { class: "sub" }, largest(flow.rejected).slice(0, 3).map(([code, number]) => h("span", { class: "sub-line" }, `${code} ${short(number)}`)), total(flow.rejected) ? null : "nothing was rejected")),
      h("div", { class: "leak-box" }, h("span", { class: "label" }, "Dropped, as the file says"), h("b", {}, count(total(flow.dropped))), h("span", { class: "sub" }, largest(flow.dropped).slice(0, 3).map(([name, number]) => h("span", { class: "sub-line" }, `${name} ${short(number)}`)), total(flow.dropped) ? null : "nothing was dropped")))));
}

function box(stage) {
  const rejected = total(stage.rejected);
  const dropped = total(stage.dropped);
  const warned = total(stage.warned);
  return h("div", { class: "stage" },
    h("span", { class: "label" }, stage.kind === "source" ? `source ${stage.name}` : stage.name),
    h("span", { class: "about", title: stage.about }, stage.about || "–"),
    h("b", {}, count(stage.went)),
    h("span", { class: "sub" }, stage.kind === "source" ? "records were read" : "went on"),
    rejected ? h("span", { class: "leak bad" }, `− ${count(rejected)} rejected`) : null,
    dropped ? h("span", { class: "leak" }, `− ${count(dropped)} dropped`) : null,
    warned ? h("span", { class: "leak warn" }, `${count(warned)} warned of`) : null);
}

function sinkBox(sink) {
  const refused = total(sink.refused);
  return h("div", { class: "stage sink" },
    h("span", { class: "label" }, `sink ${sink.name}`, sink.sort ? badge(sink.sort) : null),
    h("span", { class: "about", title: sink.target }, sink.target || "–"),
    h("b", {}, count(sink.written)),
    h("span", { class: "sub" }, sink.rows !== sink.written ? `records, as ${plural(sink.rows, "row")}` : "records written",
      sink.version === null ? "" : sink.sort === "kafka" ? ` · marker ${count(sink.version)}` : ` · version ${count(sink.version)}`),
    sink.not_routed ? h("span", { class: "leak" }, `${count(sink.not_routed)} not for this sink`) : null,
    refused ? h("span", { class: "leak bad" }, `− ${count(refused)} did not fit`) : null);
}

function courses(data, ui, history) {
  const end = data.running ? null : h("span", { class: "faint" }, "until ", when(history.until));
  const width = ui.chartWidth;
  const common = { at: history.at, width };
  return panel("Course", [
    h("div", { class: "charts" },
      chart({ ...common, id: "lag", title: "Lag, rows", show: short, series: [{ name: "unread", values: history.lag_rows, sort: "a" }] }),
      chart({ ...common, id: "rate", title: "Rows a second", show: rate, series: [{ name: "read", values: history.rows_per_second, sort: "a" }, { name: "came", values: history.arrival_per_second, sort: "b" }] }),
      chart({ ...common, id: "freshness", title: "Freshness", show: spoken, series: [{ name: "oldest unread", values: history.lag_seconds, sort: "a" }] }),
      chart({ ...common, id: "batch", title: "Batch, seconds", show: precise, series: [{ name: "mean", values: history.batch_seconds, sort: "a" }, { name: "longest", values: history.longest_seconds, sort: "b" }] })),
    history.damaged ? h("p", { class: "foot" }, `${plural(history.damaged, "line")} of the history could not be read: a crash cut them off. The ledger has every batch.`) : null,
    events(history),
  ], [end, segments("span", SPANS, ui.span, "How far back")]);
}

const WORDS = { started: "started", done: "done", stopped: "stopped", failed: "failed", waiting: "waits", recovered: "goes on", lost: "records lost", alert_raised: "alert", alert_cleared: "alert over" };

export const eventWord = (name) => WORDS[name] || name.replaceAll("_", " ");

function events(history) {
  const some = history.happened.slice(-6).reverse();
  if (!some.length) return null;
  return h("ul", { class: "events" }, some.map((each) =>
    h("li", {}, when(each.at), badge(eventWord(each.event), ["failed", "alert_raised", "lost"].includes(each.event) ? "is-bad" : each.event === "waiting" ? "is-warn" : ""), h("span", { class: "clip", title: `${time(each.at)} ${each.text}` }, each.text.split("\n")[0] || "run " + each.run))));
}
