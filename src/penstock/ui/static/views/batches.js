// Committed batches, a page at a time; and one batch, whole, in a drawer.
import { h, s } from "/static/dom.js";
import { count, iso, largest, plural, precise, short, time, total } from "/static/format.js";
import { badge, command, empty, icon, panel, share, told, when } from "/static/parts.js";

export const PHASES = ["intent", "pass", "conserve", "freeze", "tables", "topics", "outcome"];
const MEANS = {
  intent: "what it reads is written down", pass: "read, decode, check, transform, write files", conserve: "every record is accounted for",
  freeze: "the manifest is written", tables: "one commit a table", topics: "one transaction a cluster", outcome: "what it came to is written down",
};

const entries = (phases) => [...PHASES.filter((name) => name in phases), ...Object.keys(phases).filter((name) => !PHASES.includes(name))].map((name) => [name, phases[name]]);
const mark = (name) => `ph ph-${PHASES.indexOf(name) < 0 ? "other" : name}`;

export function phaseBar(phases, whole) {
  const all = entries(phases);
  const sum = Math.max(whole || 0, all.reduce((each, [, seconds]) => each + seconds, 0)) || 1;
  let at = 0;
  const label = all.map(([name, seconds]) => `${name} ${precise(seconds)}`).join(", ");
  return s("svg", { class: "phases", role: "img", "aria-label": label }, s("title", {}, label),
    s("rect", { class: "share-back", width: "100%", height: "100%" }),
    all.map(([name, seconds]) => {
      const left = at;
      at += (100 * seconds) / sum;
      return s("rect", { class: mark(name), x: `${left}%`, width: `${(100 * seconds) / sum}%`, height: "100%" });
    }));
}

export function batchesTab(data, ui, page) {
  if (!page) return h("p", { class: "loading" }, "Reading the ledger …");
  if (!page.batches.length) return empty("No batch is committed yet.", page.open === null ? "Start the pipeline:" : `Batch ${page.open} was begun.`, command(`penstock run ${data.file || "FILE"}`));
  const slowest = Math.max(...page.batches.map((each) => each.seconds || 0));
  const [first, last] = [page.batches[0].batch_id, page.batches[page.batches.length - 1].batch_id];
  const newer = ui.batches.length > 0;
  const sinks = Object.keys(page.batches[0].versions);
  return panel("Batches", [
    page.open !== null && !newer ? h("div", { class: "notice" }, icon(data.running ? "waiting" : "dead"), h("div", {}, h("a", { href: `/p/${data.id}/batches/${page.open}`, "data-link": "" }, `Batch ${count(page.open)}`), data.running ? " is being done." : " was begun and is not committed: the next run takes it up again.")) : null,
    h("div", { class: "scroll" }, h("table", { class: "wide dense rows", id: "batches" },
      h("thead", {}, h("tr", {}, h("th", { class: "num" }, "Batch"), h("th", {}, "Committed"), h("th", { class: "num" }, "Read"), h("th", { class: "num" }, "Written"), h("th", { class: "num" }, "Rejected"), h("th", { class: "num" }, "Dropped"), h("th", { class: "num" }, "Took"), h("th", {}, "Phases"), sinks.map((name) => h("th", { class: "num" }, name)), h("th", {}, ""))),
      h("tbody", {}, page.batches.map((each) => row(data, each, slowest, sinks))))),
    h("div", { class: "pager" },
      h("button", { type: "button", "data-act": "newer", disabled: !newer }, "← Newer"),
      h("span", { class: "faint" }, `${count(last)} to ${count(first)} of ${count(page.total)}`),
      h("button", { type: "button", "data-act": "older", "data-arg": page.next, disabled: page.next === null }, "Older →")),
  ], [h("form", { class: "jump", "data-form": "jump" }, h("label", { class: "faint", for: "jump" }, "Go to"), h("input", { class: "filter narrow", id: "jump", type: "text", inputmode: "numeric", pattern: "[0-9]*", placeholder: "batch", "aria-label": "Number of a batch", autocomplete: "off" })), legend()]);
}

const legend = () => h("span", { class: "legend wide-only" }, ["pass", "freeze", "tables", "topics"].map((name) => h("span", { class: `legend-item ${mark(name)}` }, name)));

function row(data, each, slowest, sinks) {
  const href = `/p/${data.id}/batches/${each.batch_id}`;
  return h("tr", { "data-key": `batch-${each.batch_id}`, "data-open": href },
    h("td", { class: "num" }, h("a", { href, "data-link": "", class: "strong mono", "aria-label": `Batch ${each.batch_id}` }, count(each.batch_id))),
    each.trouble ? h("td", { colspan: 7 + sinks.length, class: "bad clip" }, each.trouble.split("\n")[0]) : [
      h("td", {}, when(each.committed_at)),
      h("td", { class: "num" }, count(each.read)),
      h("td", { class: "num" }, count(each.written)),
      h("td", { class: `num ${each.rejected ? "bad" : "faint"}` }, count(each.rejected)),
      h("td", { class: `num ${each.dropped ? "" : "faint"}` }, count(each.dropped)),
      h("td", { class: "num" }, precise(each.seconds)),
      h("td", { class: "phase-cell" }, phaseBar(each.phases, slowest)),
      sinks.map((name) => h("td", { class: "num mono faint" }, name in each.versions ? `v${each.versions[name]}` : "–")),
      h("td", {}, each.replayed ? badge("replayed", "is-warn") : ""),
    ]);
}

// One batch, in the drawer.
export function batchView(batch) {
  const rejected = largest(batch.rejected_by);
  return [
    batch.trouble ? h("div", { class: "notice is-warn" }, icon("dead"), h("div", {}, told(batch.trouble))) : null,
    h("dl", { class: "figures small" },
      fact("Took", precise(batch.seconds)), fact("Read", count(batch.read)), fact("Written", count(batch.written)),
      fact("Rejected", count(batch.rejected), batch.rejected ? "bad" : ""), fact("Dropped", count(batch.dropped)), fact("Offsets", count(batch.offsets))),
    Object.keys(batch.phases).length ? section("Phases", phases(batch)) : null,
    section("Sinks", batch.sinks.length ? sinksTable(batch) : h("p", { class: "faint" }, batch.stage === "frozen" ? "Its files are frozen; no sink has them by an outcome yet." : "Nothing was published yet.")),
    rejected.length || total(batch.dropped_by) || total(batch.warned_by) || total(batch.not_routed_by) ? section("What did not go on", counts(batch)) : null,
    section(`Ranges of ${plural(batch.ranges.length, "partition")}`, ranges(batch)),
    batch.gaps.length ? section("Deleted before they were read", gaps(batch)) : null,
    section("In the ledger", h("dl", { class: "pairs" },
      pair("stage", batch.stage + (batch.replayed ? ", published from an earlier try's manifest" : "")), pair("begun", batch.begun_at), pair("committed", batch.committed_at ? iso(batch.committed_at) : "not yet"),
      pair("run", batch.run), pair("digest", batch.digest), pair("code", batch.fingerprint), pair("generation", batch.generation))),
  ];
}

const section = (title, body) => h("section", { class: "drawer-section" }, h("h3", {}, title), body);
const fact = (label, value, sort) => h("div", { class: "figure" }, h("dt", {}, label), h("dd", {}, h("span", { class: `value ${sort || ""}` }, value)));
const pair = (name, value) => [h("dt", {}, name), h("dd", { class: "mono" }, value === "" ? "–" : value)];

function phases(batch) {
  const known = entries(batch.phases);
  const sum = known.reduce((each, [, seconds]) => each + seconds, 0);
  const other = Math.max(0, (batch.seconds || 0) - sum);
  return [
    h("div", { class: "phases-large" }, phaseBar(batch.phases, batch.seconds)),
    h("table", { class: "dense", "aria-label": "Phases" }, h("tbody", {}, known.map(([name, seconds]) =>
      h("tr", {}, h("td", {}, h("span", { class: `legend-item ${mark(name)}` }, name)), h("td", { class: "faint" }, MEANS[name] || ""), h("td", { class: "num" }, precise(seconds)), h("td", { class: "num faint" }, batch.seconds ? `${((100 * seconds) / batch.seconds).toFixed(0)} %` : ""))),
    other > 0.0005 ? h("tr", {}, h("td", {}, h("span", { class: "legend-item ph" }, "between")), h("td", {}), h("td", { class: "num" }, precise(other)), h("td", { class: "num faint" }, `${((100 * other) / batch.seconds).toFixed(0)} %`)) : null)),
  ];
}

function sinksTable(batch) {
  return h("div", { class: "scroll" }, h("table", { class: "wide dense" }, h("thead", {}, h("tr", {}, h("th", {}, "Sink"), h("th", {}, ""), h("th", { class: "num" }, "Rows"), h("th", { class: "num" }, "Version"), h("th", { class: "num" }, "Took"), h("th", {}, "How"))),
    h("tbody", {}, batch.sinks.map((sink) => h("tr", {}, h("td", {}, sink.sink, h("span", { class: "sub mono clip", title: sink.target }, sink.target)), h("td", {}, sink.sort ? badge(sink.sort) : ""), h("td", { class: "num" }, count(sink.rows)),
      h("td", { class: "num mono" }, sink.sort === "kafka" ? `marker ${sink.version}` : sink.version), h("td", { class: "num" }, precise(sink.seconds)), h("td", {}, sink.how, sink.added.length ? h("span", { class: "sub" }, `new columns: ${sink.added.join(", ")}`) : null))))));
}

function counts(batch) {
  const kinds = [["rejected", batch.rejected_by, "bad"], ["dropped", batch.dropped_by, ""], ["warned of", batch.warned_by, "warn"], ["not for this sink", batch.not_routed_by, "faint"]];
  const most = Math.max(...kinds.flatMap(([, each]) => Object.values(each)), 1);
  return h("table", { class: "dense" }, h("tbody", {}, kinds.flatMap(([word, each, sort]) => largest(each).map(([name, number]) =>
    h("tr", {}, h("td", { class: "mono" }, name), h("td", { class: sort }, word), h("td", { class: "num bar-cell" }, share(number, most, sort === "bad" ? "is-bad" : ""), count(number)))))));
}

function ranges(batch) {
  const parts = batch.ranges;
  const most = Math.max(...parts.map((part) => part.end - part.start), 1);
  return h("div", { class: "scroll tall" }, h("table", { class: "wide dense", "aria-label": "Ranges" }, h("thead", {}, h("tr", {}, h("th", {}, "Partition"), h("th", { class: "num" }, "From"), h("th", { class: "num" }, "To, without"), h("th", { class: "num" }, "Offsets"), h("th", { class: "num" }, "Records"), h("th", { class: "num" }, "Rejected"))),
    h("tbody", {}, parts.map((part) => h("tr", {}, h("td", { class: "mono" }, part.topic, h("span", { class: "faint" }, `-${part.partition}`)), h("td", { class: "num mono" }, part.start), h("td", { class: "num mono" }, part.end),
      h("td", { class: "num bar-cell" }, share(part.end - part.start, most), count(part.end - part.start)), h("td", { class: "num" }, count(part.seen)), h("td", { class: `num ${part.rejected ? "bad" : "faint"}` }, count(part.rejected)))))));
}

const gaps = (batch) => h("ul", { class: "plain" }, batch.gaps.map((part) => h("li", { class: "mono bad" }, `${part.topic}-${part.partition} ${part.start} to ${part.end - 1} (${short(part.end - part.start)})`)));

export const batchTitle = (number, batch) => h("div", {}, h("h2", { id: "drawer-title", tabindex: -1 }, `Batch ${count(number)}`), batch ? h("span", { class: "faint" }, batch.committed_at ? `committed ${time(batch.committed_at)}` : "not committed") : null);
