// Simulates beside the page, which stays awake: a run in stretches with pictures between them, or one question.

import { simulator } from "./simulator.js";

/// A run is drawn at most so often. Unit: ms.
const DRAWN = 120;
const STRETCHES = 150;

let ask;

onmessage = async ({ data }) => {
  const { number } = data;
  try {
    ask ??= await simulator(data.module);
    if (data.question) postMessage({ number, answer: ask(data.question) });
    if (data.run) run(number, data.run, data.width);
  } catch (error) {
    // A simulator that broke, say for want of memory, answers nothing more: the next question has a new one.
    ask = undefined;
    postMessage({ number, answer: { refused: { option: "question", problem: `The simulation broke: ${error.message}` } } });
  }
};

function run(number, options, width) {
  const began = performance.now();
  const staged = ask({ ask: "stage", ...options });
  if (staged.refused) return postMessage({ number, answer: staged });
  let drawn = -DRAWN;
  let spent = 0;
  for (let stretch = 1; stretch <= STRETCHES; stretch++) {
    const { seconds } = ask({ ask: "pass", seconds: (staged.seconds * stretch) / STRETCHES });
    const now = performance.now();
    if (now - drawn >= DRAWN) {
      drawn = now;
      postMessage({ number, so_far: { seconds, of: staged.seconds, ...ask({ ask: "draw", width }) } });
      spent += performance.now() - now;
    }
  }
  const results = ask({ ask: "results" });
  const took = performance.now() - began;
  postMessage({ number, answer: { ...results, ...ask({ ask: "draw", width }), took, spent } });
}
