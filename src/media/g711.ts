/** ITU-T G.711, the encoding of telephones: a byte a sample. */

export const g711SampleRate = 8_000;

/** The sample of each byte. */
export const mulawSamples = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = ~byte & 0xff;
  const magnitude = ((((code & 0x0f) << 3) + 0x84) << ((code & 0x70) >> 4)) - 0x84;
  return code & 0x80 ? -magnitude : magnitude;
});
export const alawSamples = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = byte ^ 0x55;
  const segment = (code & 0x70) >> 4;
  const step = ((code & 0x0f) << 4) + (segment > 0 ? 0x108 : 8);
  const magnitude = segment > 1 ? step << (segment - 1) : step;
  return code & 0x80 ? magnitude : -magnitude;
});

/** The exponent of a magnitude in G.711, and the four bits after its first one. */
function segmentOf(magnitude: number): readonly [segment: number, step: number] {
  const segment = Math.max(0, 24 - Math.clz32(magnitude));
  return [segment, (magnitude >> (segment + 3)) & 0x0f];
}

export function mulawByte(sample: number): number {
  const [segment, step] = segmentOf(Math.min(Math.abs(sample), 32_635) + 0x84);
  return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | step) & 0xff;
}

export function alawByte(sample: number): number {
  const magnitude = sample < 0 ? ~sample : sample;
  const [segment, step] = segmentOf(magnitude);
  const code = (sample < 0 ? 0 : 0x80) | (segment << 4) | (segment === 0 ? magnitude >> 4 : step);
  return code ^ 0x55;
}
