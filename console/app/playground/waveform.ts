/** Draws the waveform of a recording. Loaded with the first one. */

const heightPx = 96;
const barPx = 3;
const gapPx = 2;

/** Draws into a canvas. @returns the length in seconds @throws if the browser cannot decode the audio */
export async function drawWaveform(canvas: HTMLCanvasElement, audio: Blob): Promise<number> {
  const context = new OfflineAudioContext(1, 1, 44_100);
  const decoded = await context.decodeAudioData(await audio.arrayBuffer());
  const width = canvas.clientWidth || 600;
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = heightPx * scale;
  const pen = canvas.getContext('2d');
  if (pen === null) return decoded.duration;
  pen.scale(scale, scale);
  pen.fillStyle = getComputedStyle(canvas).color;
  const count = Math.floor(width / (barPx + gapPx));
  const peaks = peaksOf(decoded.getChannelData(0), count);
  const highest = Math.max(0.01, ...peaks);
  peaks.forEach((peak, index) => {
    const height = Math.max(2, (peak / highest) * (heightPx - 4));
    pen.beginPath();
    pen.roundRect(index * (barPx + gapPx), (heightPx - height) / 2, barPx, height, barPx / 2);
    pen.fill();
  });
  return decoded.duration;
}

/** The loudest sample of each part. */
function peaksOf(samples: Float32Array, count: number): number[] {
  const size = Math.max(1, Math.floor(samples.length / count));
  return Array.from({ length: count }, (_, index) => {
    let peak = 0;
    for (let at = index * size; at < Math.min(samples.length, (index + 1) * size); at++) {
      peak = Math.max(peak, Math.abs(samples[at] ?? 0));
    }
    return peak;
  });
}
