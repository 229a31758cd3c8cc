// Schemas, alerts, ledger.
import { h } from "/static/dom.js";
import { ago, count, plural, time } from "/static/format.js";
import { badge, command, empty, icon, panel, told, when } from "/static/parts.js";
import { eventWord } from "/static/views/flow.js";

const pair = (name, value) => [h("dt", {}, name), h("dd", { class: "mono" }, value === "" || value === null ? "–" : value)];
const short = (text) => h("span", { title: text }, text.slice(0, 12));

export function schemasTab(data, ui, schemas) {
  if (!schemas) return h("p", { class: "loading" }, "Reading …");
  if (schemas.trouble) return h("div", { class: "notice is-bad" }, icon("failed"), h("div", {}, told(schemas.trouble)));
  if (!schemas.kept) return empty("This pipeline reads by the schema in its file.", "With a registry, every change of a producer's schema is listed here, with what became of it.", command("penstock describe schema_changes"));
  return [
    panel("Columns now", [
      h("dl", { class: "pairs" }, pair("revision", schemas.revision), pair("registry", schemas.registry), Object.entries(schemas.subjects).map(([subject, id]) => pair(subject, `schema ${id}`))),
      h("pre", { class: "ddl", tabindex: 0 }, schemas.columns)]),
    panel("Changes", schemas.news.length ? h("ul", { class: "letters" }, schemas.news.map((each) =>
      h("li", { class: "letter" }, h("div", { class: "letter-head" }, badge(each.action, each.action === "park" ? "is-warn" : "is-ok"), h("span", { class: "mono" }, each.subject), h("span", { class: "faint" }, `schema ${each.before === null ? "new" : each.before} → ${each.after}`),
        each.batch_id === null ? null : h("a", { href: `/p/${data.id}/batches/${each.batch_id}`, "data-link": "" }, `batch ${count(each.batch_id)}`), h("span", { class: "end faint" }, when(Date.parse(each.at) / 1000 || null))),
      each.changes.map((change) => h("p", { class: "detail mono" }, [change.kind, change.path, change.before ? `${change.before} → ${change.after}` : change.after].filter(Boolean).join("  "))))))
      : empty("No schema has changed since the first start.")),
  ];
}

export function alertsTab(data, ui, alerts) {
  if (!alerts) return h("p", { class: "loading" }, "Reading …");
  return [
    panel("Raised now", alerts.standing.length ? h("ul", { class: "letters" }, alerts.standing.map((each) =>
      h("li", { class: "letter" }, h("div", { class: "letter-head" }, badge(each.alert, "is-bad"), h("b", {}, each.text), h("span", { class: "end faint" }, each.since ? `since ${time(each.since)}` : "")),
        h("p", { class: "detail" }, each.cause), h("p", { class: "detail next" }, told(each.next_step)))))
      : empty("No alert is raised.", data.running ? "Alerts are looked at every few seconds while the pipeline runs." : `As of ${ago(alerts.measured_at)}, when the process was last heard of.`, "What is looked for:", command(`penstock alerts list ${data.file || "FILE"}`)),
    !data.running && alerts.standing.length ? h("span", { class: "faint" }, `as of ${ago(alerts.measured_at)}`) : null),
    alerts.lost_trouble ? h("div", { class: "notice is-warn" }, icon("dead"), h("div", {}, told(alerts.lost_trouble))) : null,
    alerts.lost.length ? panel("Records that are gone", h("div", { class: "scroll" }, h("table", { class: "wide dense" }, h("thead", {}, h("tr", {}, h("th", {}, "Noticed"), h("th", {}, "Partition"), h("th", { class: "num" }, "From"), h("th", { class: "num" }, "To"), h("th", { class: "num" }, "Offsets"), h("th", { class: "num" }, "Batch"))),
      h("tbody", {}, alerts.lost.map((each) => h("tr", {}, h("td", {}, when(each.at)), h("td", { class: "mono" }, `${each.topic}-${each.partition}`), h("td", { class: "num mono" }, each.start), h("td", { class: "num mono" }, each.end - 1), h("td", { class: "num bad" }, count(each.end - each.start)), h("td", { class: "num" }, count(each.batch_id)))))))) : null,
    panel("What happened, in the last week", alerts.happened.length ? h("ul", { class: "events full" }, alerts.happened.map((each) =>
      h("li", {}, when(each.at), badge(eventWord(each.event), ["failed", "alert_raised", "lost"].includes(each.event) ? "is-bad" : each.event === "waiting" ? "is-warn" : ""), h("span", { class: "text" }, each.text || "", h("span", { class: "faint mono" }, ` run ${each.run}`)))))
      : empty("Nothing is written down.")),
    alerts.damaged ? h("p", { class: "foot" }, `${plural(alerts.damaged, "line")} of the history could not be read: a crash cut them off.`) : null,
  ];
}

export function ledgerTab(data, ui, ledger) {
  if (!ledger) return h("p", { class: "loading" }, "Reading the ledger …");
  if (!ledger.entries.length && !ledger.identity) return empty("There is no ledger yet.", ledger.trouble || "It begins with the first run.", command(`penstock run ${data.file || "FILE"}`));
  const who = ledger.identity;
  return [
    ledger.trouble ? h("div", { class: "notice is-bad" }, icon("failed"), h("div", {}, told(ledger.trouble))) : null,
    h("div", { class: "split even" },
      who ? panel("Who this is", h("dl", { class: "pairs" }, pair("pipeline", who.pipeline), pair("generation", `${who.generation} of ${ledger.generations.join(", ")}`), pair("ledger", who.id), pair("begun", who.created_at), pair("by", `penstock ${who.version}`),
        pair("cluster", who.cluster), who.start ? pair("starts at", who.start) : null, pair("state", data.state))) : null,
      who ? panel("Reads and writes", h("dl", { class: "pairs" }, Object.entries(who.topics).slice(0, 12).map(([topic, id]) => pair(topic, `topic id ${id}`)), Object.keys(who.topics).length > 12 ? pair("", `and ${Object.keys(who.topics).length - 12} more topics`) : null,
        who.sinks.map((sink) => pair(`sink ${sink.sink}`, `${sink.committer} ${sink.target}`)), ledger.markers.map((each) => pair(`marker ${each.cluster}`, each.marker)))) : null),
    panel("Entries", [
      h("div", { class: "scroll" }, h("table", { class: "wide dense rows", id: "ledger" },
        h("thead", {}, h("tr", {}, h("th", { class: "num" }, "Batch"), h("th", {}, "Stage"), h("th", {}, "Intent"), h("th", {}, "Outcome"), h("th", {}, "Sinks"), h("th", { class: "num" }, "Offsets"), h("th", {}, "Run"), h("th", {}, "Code"), h("th", {}, "Digest"))),
        h("tbody", {}, ledger.entries.map((each) => h("tr", { "data-key": `entry-${each.batch_id}`, "data-open": `/p/${data.id}/batches/${each.batch_id}` },
          h("td", { class: "num" }, h("a", { href: `/p/${data.id}/batches/${each.batch_id}`, "data-link": "", class: "strong mono" }, count(each.batch_id))),
          h("td", {}, badge(each.stage, each.stage === "committed" ? "is-ok" : "is-warn"), each.trouble ? h("span", { class: "sub bad clip" }, each.trouble.split("\n")[0]) : null),
          h("td", {}, when(Date.parse(each.begun_at) / 1000 || null)), h("td", {}, when(each.committed_at)),
          h("td", {}, Object.entries(each.how).map(([name, how]) => h("span", { class: "sub-line" }, `${name} ${how}`))),
          h("td", { class: "num" }, count(each.offsets)), h("td", { class: "mono faint" }, short(each.run)), h("td", { class: "mono faint" }, short(each.fingerprint)), h("td", { class: "mono faint" }, short(each.digest))))))),
      h("div", { class: "pager" }, h("button", { type: "button", "data-act": "newer", disabled: !ui.ledger.length }, "← Newer"), h("span", {}), h("button", { type: "button", "data-act": "older", "data-arg": ledger.next, disabled: ledger.next === null }, "Older →")),
    ]),
  ];
}
