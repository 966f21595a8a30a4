// The page: fields, runs, and what they are compared with.

import { Crew } from "./crew.js";
import { compiled } from "./simulator.js";
import { Shown, element } from "./show.js";
import { NAMES, SLIDERS, USUAL, fragment, options, readFlows, readPath, recorded, unfragment, writeFlows, writePath } from "./words.js";

const at = id => document.getElementById(id);
const SENDERS = { pcc: "PCC", cubic: "CUBIC", bbr: "BBR", reno: "Reno" };

let module, checker, presets, utilities, kinds;
/// The runs on the page: `{ fields, shown, crew, isOver }`.
let now = null, kept = null;
/// The texts of the recorded links that somebody gave the page, by name.
const links = {};

// Fields.

const field = name => at(name);
const fields = () => Object.fromEntries(NAMES.map(name => [name, name === "ecn" ? field(name).checked : field(name).value]));

function fill(values) {
  for (const name of NAMES) name === "ecn" ? field(name).checked = values[name] : field(name).value = values[name];
  at("more").open ||= ["queue", "ecn", "policer", "then", "law", "set"].some(name => values[name] !== USUAL[name]);
  showPath();
  showRows();
  showUtility();
}

function refuse(refused) {
  for (const name of [...NAMES, "question"]) {
    const place = at(`${name}-error`);
    if (!place) continue;
    const problem = refused?.option === name ? refused.problem : "";
    if (place.textContent !== problem) place.textContent = problem;
    if (name !== "question") field(name).setAttribute("aria-invalid", String(problem !== ""));
  }
  const hidden = refused && at(`${refused.option}-error`)?.closest("details");
  if (hidden) hidden.open = true;
}

/// Sliders as the text has it.
function showPath() {
  const values = readPath(field("path").value, presets);
  at("path-beyond").hidden = values !== null;
  for (const [key, slider] of Object.entries(SLIDERS)) {
    const output = at(key).parentElement.querySelector("output");
    if (values) at(key).value = slider.place(values[key]);
    const shown = values ? slider.shown(Number(values[key].toPrecision(3))) : "–";
    output.textContent = shown;
    at(key).setAttribute("aria-valuetext", shown);
  }
  const written = field("path").value.trim();
  at("preset").value = presets.find(({ name, parameters }) => written === name || written === parameters)?.name ?? "";
}

/// A file that was chosen or dropped becomes the path.
async function take(file) {
  at("trace-error").textContent = "";
  try {
    const { name, text, path, about } = await recorded(file);
    links[name] = text;
    field("path").value = path;
    at("trace-hint").textContent = about;
    showPath();
    edited();
  } catch (error) {
    at("trace-error").textContent = error.message;
  }
}

function slid(moved) {
  const before = readPath(field("path").value, presets);
  // A slider that was not moved keeps its value, which may lie between two of its places.
  const value = key => before && key !== moved ? before[key] : SLIDERS[key].value(at(key).value);
  const values = Object.fromEntries(Object.keys(SLIDERS).map(key => [key, value(key)]));
  for (const key of ["rate", "rtt", "buffer"]) values[key] = Number(values[key].toPrecision(4));
  field("path").value = writePath(values);
  showPath();
}

/// Rows of senders as the text has them.
function showRows() {
  const rows = readFlows(field("flows").value, Object.keys(kinds));
  at("flows-beyond").hidden = rows !== null;
  at("rows").replaceChildren(...(rows ?? []).map((row, place) => {
    const name = part => `row-${place}-${part}`;
    const labelled = (part, label, made) => {
      made.id = name(part);
      return element("div", {}, element("label", { for: made.id }, label), made);
    };
    const kind = element("select", {}, ...Object.entries(kinds).map(([value, label]) => element("option", { value }, label)));
    kind.value = row.kind;
    const count = element("input", { type: "number", min: "1", max: "100", step: "1", value: row.count });
    const start = element("input", { type: "number", min: "0", step: "0.5", value: row.start });
    const remove = element("button", { type: "button", "aria-label": `Remove sender ${place + 1}` }, "×");
    remove.disabled = rows.length === 1;
    remove.onclick = () => {
      rows.splice(place, 1);
      changed();
      at("add").focus();
    };
    const changed = () => {
      field("flows").value = writeFlows(rows);
      showRows();
      edited();
    };
    for (const [part, input] of Object.entries({ kind, count, start })) {
      input.onchange = () => {
        rows[place][part] = part === "kind" ? input.value : Math.max(Number(input.min), Number(input.value) || 0);
        changed();
        at(name(part)).focus();
      };
    }
    return element("div", { class: "row", role: "group", "aria-label": `Sender ${place + 1}` },
      labelled("kind", "Sender", kind), labelled("count", "Number", count), labelled("start", "Start, s", start), remove);
  }));
}

function showUtility() {
  const written = field("utility").value.trim();
  const known = utilities.find(({ name }) => name === (written || "fair"));
  at("known").value = known && written ? known.name : "";
  at("summary").textContent = known ? `${known.summary}: ${known.formula}` : "";
}

// The check, while somebody writes.

let due = 0, asked = 0;

function edited() {
  clearTimeout(due);
  due = setTimeout(check, 250);
}

async function check() {
  const mine = ++asked, { path, utility, law, set } = fields(), staging = options(fields(), links);
  const [staged, found] = await Promise.all([
    checker.ask({ ask: "stage", ...staging }), checker.ask({ ask: "check", path, utility, law, set, files: staging.files })]);
  if (mine !== asked) return;
  refuse(staged.refused ?? found.refused);
  if (found.refused) {
    at("verdict").textContent = "not yet";
    at("findings").textContent = found.refused.problem;
    at("traps").replaceChildren();
    return at("charts").replaceChildren();
  }
  const traps = found.traps.length;
  at("verdict").textContent = traps === 0 ? "no known traps" : traps === 1 ? "1 trap" : `${traps} traps`;
  at("traps").replaceChildren(...found.traps.map(trap => element("li", {}, trap)));
  at("findings").textContent = found.text;
  at("charts").replaceChildren(...found.charts.map(({ title, svg }) =>
    element("img", { alt: title, src: `data:image/svg+xml,${encodeURIComponent(svg)}` })));
}

// Runs.

function arrange() {
  at("runs").className = kept ? "two" : "one";
  at("runs").replaceChildren(...[kept, now].filter(Boolean).map(run => run.shown.root));
}

function begin(values, title) {
  return { fields: values, shown: new Shown(values, title), crew: new Crew(module), isOver: false };
}

const name = ({ path, flows, utility }) => `${flows} over ${path}${utility.trim() ? `, PCC's utility ${utility.trim()}` : ""}`;

async function play(run) {
  const answer = await run.crew.run(options(run.fields, links), run.shown.width(), so_far => {
    run.shown.draw(so_far.pictures);
    at("status").textContent = `${so_far.seconds.toFixed(1)} of ${so_far.of} s`;
  });
  if (answer.refused) return answer;
  run.isOver = true;
  run.shown.draw(answer.pictures);
  run.shown.tell(answer);
  return answer;
}

async function start() {
  const values = fields();
  clearTimeout(due);
  // A run in vain leaves the last one on the page.
  const staged = await checker.ask({ ask: "stage", ...options(values, links) });
  check();
  if (staged.refused) {
    refuse(staged.refused);
    at("status").textContent = "Not run: see the field that is marked.";
    field(staged.refused.option)?.focus();
    return;
  }
  now?.crew.end();
  const run = now = begin(values, name(values));
  arrange();
  link();
  const answer = await play(run);
  if (run !== now) return;
  if (answer.refused) {
    at("status").textContent = "The run has no end.";
    return refuse(answer.refused);
  }
  at("keep").disabled = at("share").disabled = false;
  await align();
  at("status").textContent = `Simulated ${values.time} of ${answer.runs[0].flows.length} senders in ${(answer.took / 1e3).toFixed(2)} s.`;
  document.documentElement.dataset.took = Math.round(answer.took);
}

/// Both runs as wide as they are now, with the same vertical axes.
async function align() {
  const runs = [kept, now].filter(run => run?.isOver);
  const highest = place => Math.max(0, ...runs.map(run => run.shown.pictures[place]?.top ?? 0));
  const reach = runs.length > 1 ? [0, 1, 2, 3].map(highest) : [];
  for (const run of runs) {
    const { pictures } = await run.crew.ask({ ask: "draw", width: run.shown.width(), reach });
    run.shown.draw(pictures);
  }
}

function keep() {
  if (!now?.isOver) return;
  kept?.crew.end();
  [kept, now] = [now, null];
  hold(kept);
  arrange();
  align();
  link();
  at("keep").disabled = true;
  at("status").textContent = "Kept. Change something and run again: both are shown, on the same axes.";
}

function hold(run) {
  const remove = element("button", { type: "button" }, "Remove");
  remove.onclick = () => {
    kept?.crew.end();
    kept = null;
    arrange();
    align();
    link();
    at("run").focus();
  };
  run.shown.title.prepend("Kept: ");
  run.shown.title.after(remove);
}

// Links.

const link = () => history.replaceState(null, "", `#${fragment(fields(), kept?.fields)}`);

async function share() {
  link();
  try {
    await navigator.clipboard.writeText(location.href);
    at("status").textContent = "The link is copied. It holds the path, the senders and the utility, also of the run that was kept.";
  } catch {
    at("status").textContent = `The link is this page's address: ${location.href}`;
  }
}

async function open() {
  const { fields: values, kept: before } = unfragment(location.hash);
  fill(values ?? USUAL);
  now?.crew.end();
  kept?.crew.end();
  now = kept = null;
  if (before) {
    kept = begin(before, name(before));
    hold(kept);
    arrange();
    const { refused } = await play(kept);
    if (refused) {
      kept.crew.end();
      kept = null;
    }
  }
  await start();
  document.documentElement.dataset.state = "ready";
}

async function main() {
  module = await compiled();
  checker = new Crew(module);
  const words = await checker.ask({ ask: "words" });
  const [light, dark] = words.colours;
  document.head.append(element("style", {}, `:root{${light}}@media(prefers-color-scheme:dark){:root{${dark}}}`));
  [presets, utilities] = [words.paths, words.utilities];
  kinds = { ...SENDERS };
  // Those that say by themselves what they need; the text takes all.
  const plain = utilities.filter(({ name }) => !["fair", "weighted", "hybrid", "rate-limiter"].includes(name));
  for (const { name } of plain) kinds[`pcc/${name}`] = `PCC, ${name}`;
  const option = ([value, label]) => element("option", { value }, label);
  at("preset").append(...presets.map(({ name, about }) => option([name, `${name}: ${about}`])));
  at("queue").append(...words.queues.map(name => option([name, name])));
  at("known").append(...utilities.map(({ name }) => option([name, name])));

  at("form").onsubmit = event => {
    event.preventDefault();
    start().then(() => {
      // On a phone the results begin below the screen.
      if (now && at("results").getBoundingClientRect().top > innerHeight * 0.8) at("results").scrollIntoView();
    });
  };
  at("form").oninput = event => {
    if (event.target.id in SLIDERS) slid(event.target.id);
    if (event.target === field("path")) showPath();
    if (event.target === field("flows")) showRows();
    if (event.target === field("utility")) showUtility();
    edited();
  };
  at("preset").onchange = () => {
    const chosen = presets.find(({ name }) => name === at("preset").value);
    if (chosen) field("path").value = chosen.parameters;
    showPath();
  };
  at("known").onchange = () => {
    field("utility").value = at("known").value;
    showUtility();
  };
  at("trace").onchange = () => at("trace").files.length && take(at("trace").files[0]);
  document.ondragover = event => event.preventDefault();
  document.ondrop = event => {
    // Text that is dragged into a field goes there.
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  };
  at("add").onclick = () => {
    const rows = readFlows(field("flows").value, Object.keys(kinds)) ?? [];
    field("flows").value = writeFlows([...rows, { kind: "cubic", count: 1, start: 0 }]);
    showRows();
    edited();
    at(`row-${rows.length}-kind`)?.focus();
  };
  at("keep").onclick = keep;
  at("share").onclick = share;
  onhashchange = open;
  let resized = 0;
  onresize = () => {
    clearTimeout(resized);
    resized = setTimeout(align, 200);
  };
  await open();
}

main().catch(error => {
  at("question-error").textContent = `The simulator does not run here: ${error.message}`;
});
