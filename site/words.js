// The texts of fields: sliders write a path, rows write senders, and a link holds all of them.

/// What a run needs, under the names that `pcc-lab sim` has for it, and what a page begins with.
export const USUAL = {
  path: "rate=100Mbit,rtt=30ms,buffer=1bdp", flows: "pcc cubic:start=5s", utility: "", time: "30s", seed: "1",
  queue: "", ecn: false, policer: "", then: "", law: "", set: "",
};
export const NAMES = Object.keys(USUAL);

/// As the simulator takes them, with those of the recorded links that they name.
export function options(fields, recorded) {
  const named = Object.entries(recorded).filter(([name]) => `${fields.path},${fields.then}`.includes(name));
  return { ...fields, then: fields.then.trim() ? [fields.then.trim()] : [], files: Object.fromEntries(named) };
}

/// The largest recorded link that the page takes: ten minutes at 20 Mbit/s. `pcc-lab sim` takes 1 GB. Unit: bytes.
const LARGEST = 8e6;

/// A file as a recorded link: its name as a path's text may have it, the text of a path over it, and what people read of it. Recordings
/// of mobile links need deep buffers.
export async function recorded(file) {
  const size = file.size < 1e6 ? `${Math.ceil(file.size / 1e3)} kB` : `${Math.ceil(file.size / 1e5) / 10} MB`;
  if (file.size > LARGEST) throw new Error(`${file.name} has ${size}, and the page takes ${LARGEST / 1e6} MB: pcc-lab sim takes 1 GB`);
  const name = file.name.replace(/[^\w.-]+/g, "-");
  return { name, text: await file.text(), path: `trace=${name},rtt=30ms,buffer=1MB`, about: `${name}, ${size}, stays on this computer.` };
}

const KEPT = "kept.";

/// Fields, and those of a run that was kept, as the part of a link behind #.
export function fragment(fields, kept) {
  const all = new URLSearchParams();
  const put = (prefix, fields) => NAMES.forEach(name => {
    if (fields[name] !== USUAL[name] || name === "path" || name === "flows") all.set(prefix + name, fields[name]);
  });
  put("", fields);
  if (kept) put(KEPT, kept);
  return all.toString();
}

/// The same, read: `null` where there is nothing.
export function unfragment(text) {
  const all = new URLSearchParams(text.replace(/^#/, ""));
  const read = prefix => {
    if (!NAMES.some(name => all.has(prefix + name))) return null;
    const value = name => all.get(prefix + name) ?? USUAL[name];
    return Object.fromEntries(NAMES.map(name => [name, name === "ecn" ? String(value(name)) === "true" : value(name)]));
  };
  return { fields: read(""), kept: read(KEPT) };
}

/// A word that a shell takes for this text.
const quoted = word => /^[\w\-./=,:%]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/// A time without a fraction, which options of the tool do not take.
const whole = time => time.trim().replace(/^([\d.]*\.\d+)(s|ms)$/, (_, number, unit) =>
  `${Math.round(number * (unit === "s" ? 1e6 : 1e3))}us`);

/// The command that has the same figures.
export function command(fields) {
  const words = ["pcc-lab", "sim", "--link", fields.path.trim(), "--flows", fields.flows.trim()];
  for (const name of ["utility", "law", "queue", "policer", "then"]) {
    if (fields[name].trim()) words.push(`--${name}`, fields[name].trim());
  }
  const set = fields.set.split(/[\s,]+/).filter(Boolean).join(",");
  if (set) words.push("--set", set);
  if (fields.ecn) words.push("--ecn");
  words.push("--time-limit", whole(fields.time), "--seed", fields.seed.trim());
  return words.map(quoted).join(" ");
}

// Sliders for quantities that people compare by factors have 120 equal factors.
const factors = (least, most) => ({
  value: place => Number((least * (most / least) ** (place / 120)).toPrecision(2)),
  place: value => Math.round(120 * Math.log(value / least) / Math.log(most / least)),
});
const plain = { value: Number, place: value => value };

export const SLIDERS = {
  rate: { ...factors(1, 1000), text: value => `${value}Mbit`, shown: value => `${value} Mbit/s` },
  rtt: { ...factors(1, 1000), text: value => `${value}ms`, shown: value => `${value} ms` },
  buffer: { ...factors(0.02, 8), text: value => `${value}bdp`, shown: String },
  loss: { ...plain, text: value => value && `${value}%`, shown: value => `${value} %` },
  jitter: { ...plain, text: value => value && `${value}ms`, shown: value => `${value} ms` },
};

const RATES = { kbit: 1e-3, mbit: 1, gbit: 1e3 };
const TIMES = { us: 1e-3, ms: 1, s: 1e3 };
const BYTES = { b: 1, kb: 1e3, mb: 1e6, kib: 1024, mib: 1 << 20 };

/// The values of a path's text, or of a preset's name, if sliders can show all that it says.
export function readPath(written, presets) {
  const text = presets.find(({ name }) => name === written.trim())?.parameters ?? written;
  const found = { rate: null, rtt: null, buffer: null, loss: 0, jitter: 0 };
  const scale = (units, number, unit) => number * (units[unit.toLowerCase()] ?? NaN);
  for (const part of text.trim().split(",")) {
    const [, key, number, unit] = /^(\w+)=([\d.]+)([a-z%]*)$/i.exec(part.trim()) ?? [];
    if (!(key in found)) return null;
    if (key === "buffer") found.buffer = unit.toLowerCase() === "bdp" ? Number(number) : [scale(BYTES, number, unit)];
    else if (key === "loss") found.loss = unit === "%" ? Number(number) : NaN;
    else found[key] = scale(key === "rate" ? RATES : TIMES, number, unit);
  }
  if (found.rate && found.rtt && Array.isArray(found.buffer)) found.buffer = found.buffer[0] / (found.rate * found.rtt * 125);
  return Object.values(found).every(Number.isFinite) ? found : null;
}

export function writePath(values) {
  const parts = Object.entries(SLIDERS).map(([key, slider]) => [key, slider.text(values[key])]);
  return parts.filter(([, text]) => text).map(([key, text]) => `${key}=${text}`).join(",");
}

/// The rows of the senders' text, if rows can show all that it says.
export function readFlows(text, kinds) {
  const rows = text.split(/\s+/).filter(Boolean).map(word => {
    const [, kind, count, start] = /^([a-z]+(?:\/[a-z-]+)?)(?:\*(\d+))?(?::start=([\d.]+)s)?$/.exec(word) ?? [];
    return kinds.includes(kind) ? { kind, count: Number(count ?? 1), start: Number(start ?? 0) } : null;
  });
  return rows.length > 0 && rows.length <= 8 && rows.every(Boolean) ? rows : null;
}

export const writeFlows = rows => rows.map(({ kind, count, start }) =>
  kind + (count > 1 ? `*${count}` : "") + (start > 0 ? `:start=${start}s` : "")).join(" ");
