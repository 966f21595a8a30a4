// The results of a run as elements: pictures, a table, and the words of the tool.

import { command } from "./words.js";

/// An element with attributes and children.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/// An element of the simulator's SVG, in which all text of people is escaped.
function drawn(svg) {
  const holder = document.createElement("template");
  holder.innerHTML = svg;
  return holder.content.firstElementChild;
}

const digits = (value, places) => value === null ? "–" : value.toFixed(places);

const COLUMNS = [
  ["Start, s", flow => digits(flow.start_s, 1)],
  ["Mbit/s", flow => digits(flow.goodput_mbit, 3)],
  ["Share", flow => digits(flow.share, 3)],
  ["Loss, %", flow => digits(flow.loss * 100, 3)],
  ["RTT+ p50, ms", flow => digits(flow.rtt_added_p50_ms, 2)],
  ["RTT+ p95, ms", flow => digits(flow.rtt_added_p95_ms, 2)],
];

function table(run) {
  const head = element("tr", {}, ...["Sender", ...COLUMNS.map(([name]) => name)].map(name => element("th", { scope: "col" }, name)));
  const rows = run.flows.map(flow => element("tr", {}, element("th", { scope: "row" }, flow.flow),
    ...COLUMNS.map(([, text]) => element("td", {}, text(flow)))));
  const late = run.second_half;
  const fair = late.jain_1s === null ? "" : `, Jain's index ${digits(late.jain_1s, 3)}`;
  const words = `All: share ${digits(run.share, 3)}, loss ${digits(run.loss * 100, 3)} %. Second half: queueing delay ` +
    `${digits(late.queue_p95_ms, 2)} ms at the 95th percentile, loss ${digits(late.loss * 100, 3)} %${fair}.`;
  const scrolls = element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Table of the senders" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  return element("div", {}, scrolls, element("p", { class: "hint" }, words));
}

/// A run on the page.
export class Shown {
  pictures = [];

  constructor(fields, title) {
    this.fields = fields;
    this.title = element("h2", {}, title);
    this.places = element("div", { class: "pictures" });
    this.below = element("div");
    this.root = element("article", { class: "card" }, element("div", { class: "head" }, this.title), this.places, this.below);
  }

  /// The width of a picture. Unit: pixels.
  width() {
    const columns = getComputedStyle(this.places).gridTemplateColumns.split(" ");
    return Math.round(parseFloat(columns[0])) || 340;
  }

  draw(pictures) {
    this.pictures = pictures;
    this.places.replaceChildren(...pictures.map(({ title, svg, legend }) => {
      const names = legend.map(({ key, name }) => element("li", {},
        drawn(`<svg viewBox="0 0 28 10" aria-hidden="true">${key}</svg>`), ` ${name}`));
      return element("figure", {}, element("h3", {}, title), drawn(svg), element("ul", { class: "legend" }, ...names));
    }));
  }

  tell({ runs, text, json }) {
    const closed = (title, ...inside) => element("details", {}, element("summary", {}, title), ...inside);
    this.below.replaceChildren(table(runs[0]),
      closed("As pcc-lab sim prints it", element("p", { class: "hint" }, "The same figures come from "),
        element("pre", { class: "wraps command" }, command(this.fields)),
        element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "The tool's table" }, element("pre", {}, text))),
      closed("JSON", element("pre", { class: "wraps json" }, json)));
  }
}
