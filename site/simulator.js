// The other side of crates/playground/src/door.rs: a question and its answer are JSON.

const MODULE = new URL("pcc_playground.wasm", import.meta.url);

/// Fetched and compiled once for a page and its workers.
export async function compiled() {
  const answer = await fetch(MODULE);
  if (!answer.ok) throw new Error(`${MODULE.pathname} cannot be loaded: ${answer.status}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

/// A function that takes a question and answers it.
export async function simulator(module) {
  const { exports } = await WebAssembly.instantiate(module, {});
  return question => {
    const bytes = new TextEncoder().encode(JSON.stringify(question));
    // Memory may move while the module makes room, and while it answers.
    const room = exports.room(bytes.length);
    new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
    const at = exports.answer();
    return JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, exports.length())));
  };
}
