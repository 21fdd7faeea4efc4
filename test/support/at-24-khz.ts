/** Speech of tests at the rate of OpenAI's Realtime protocol. */

/** The samples with silence after them, at the 24 kHz of OpenAI: each third sample is the mean of its neighbours. */
export function at24kHz(samples: Int16Array): Int16Array<ArrayBuffer> {
  const slow = (at: number) => samples[Math.min(at, samples.length - 1)] ?? 0;
  const length = Math.floor((samples.length * 3) / 2);
  return Int16Array.from({ length: length + 24_000 }, (_, at) => {
    if (at >= length) return 0;
    const position = (at * 2) / 3;
    const [before, share] = [Math.floor(position), position % 1];
    return slow(before) * (1 - share) + slow(before + 1) * share;
  });
}
