/**
 * Transcribes an hour of speech in an Opus file of less than 4 MB and prints how long it took and the most memory that the
 * server and its children held. Run it with `node bench/long-transcription.ts [minutes]`; it needs ffmpeg, flite and
 * pocketsphinx, and a few minutes of an otherwise idle machine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBuiltinTranscription } from '../src/engines/builtin/transcription.ts';
import { encode, joinSamples, speak } from '../test/support/audio-files.ts';

const text =
  'The harbor was quiet when the first boats came home. A light rain had fallen during the night, and the stones along the ' +
  'water were still dark and wet. Two men carried a long wooden table out of the old store and set it beside the road. ' +
  'Nobody asked them why, because everybody in the village knew that the market would begin before noon. In the afternoon ' +
  'the sun came out and the whole street filled with people. Children ran between the tables with small flags made of paper.';

const minutes = Number(process.argv[2] ?? 60);
const sampleMs = 500;
/** A busy machine makes the figures worse; it should not take them away. */
const requestMsMax = 60 * 60_000;
/** Clock ticks a second in /proc, on every Linux there is. */
const ticksPerSecond = 100;

async function makeRecording(): Promise<Buffer> {
  const voices = await Promise.all([speak(text, 'rms'), speak(text, 'slt')]);
  const parts: Int16Array[] = [];
  for (let samples = 0; samples < minutes * 60 * 16_000; samples += parts.at(-1)?.length ?? 0) {
    parts.push(voices[parts.length % voices.length] ?? new Int16Array(0));
  }
  return encode(joinSamples(...parts), 'ogg', '-c:a', 'libopus', '-b:a', '8k', '-application', 'voip');
}

interface ProgramUse {
  /** The most memory that one process of this name has held, in MB. */
  memoryMax: number;
  /** Processor time of each process of this name, by its id. */
  readonly cpuSeconds: Map<string, number>;
}

/** What the children of this process use, by the name of the program, sampled until `stop`. */
function watchChildren(): { uses: Map<string, ProgramUse>; stop: () => void } {
  const uses = new Map<string, ProgramUse>();
  const timer = setInterval(() => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) sampleProcess(pid, uses);
  }, sampleMs);
  return { uses, stop: () => clearInterval(timer) };
}

function sampleProcess(pid: string, uses: Map<string, ProgramUse>): void {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? '';
    if (field('PPid') !== `${process.pid}`) return;
    const use = uses.get(field('Name')) ?? { memoryMax: 0, cpuSeconds: new Map() };
    uses.set(field('Name'), use);
    use.memoryMax = Math.max(use.memoryMax, Number(field('VmHWM')) / 1024);
    const times = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    use.cpuSeconds.set(pid, (Number(times[11]) + Number(times[12])) / ticksPerSecond);
  } catch {
    // The process has ended between the listing and the reading.
  }
}

function describeUse([name, { memoryMax, cpuSeconds }]: readonly [string, ProgramUse]): string {
  const total = [...cpuSeconds.values()].reduce((sum, seconds) => sum + seconds, 0);
  return `${name}: ${Math.round(memoryMax)} MB at most in one, ${total.toFixed(0)} s of processor time in all\n`;
}

async function main(): Promise<void> {
  const recording = await makeRecording();
  const scratchDir = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  const children = Math.min(2, availableParallelism());
  const engine = createBuiltinTranscription({ children, queueMax: 1, scratchDir, requestMsMax });
  const { uses, stop } = watchChildren();
  const rssAtStart = process.memoryUsage.rss();
  let rssMax = rssAtStart;
  const startedAt = performance.now();
  let firstSegmentMs = 0;
  let [segments, words, durationMs] = [0, 0, 0];
  const { signal } = new AbortController();
  for await (const event of engine.transcribe({
    audio: recording,
    fileName: undefined,
    language: undefined,
    signal,
  })) {
    rssMax = Math.max(rssMax, process.memoryUsage.rss());
    if (event.kind === 'done') durationMs = event.durationMs;
    if (event.kind !== 'segment') continue;
    firstSegmentMs ||= performance.now() - startedAt;
    segments += 1;
    words += event.segment.words.length;
  }
  const wallSeconds = (performance.now() - startedAt) / 1000;
  stop();
  await engine.close();
  await rm(scratchDir, { recursive: true });

  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
  process.stdout.write(
    `${(recording.length / 1e6).toFixed(2)} MB of Opus, ${(durationMs / 60_000).toFixed(1)} minutes, ${children} recognisers\n` +
      `wall ${wallSeconds.toFixed(0)} s, ${(durationMs / 1000 / wallSeconds).toFixed(1)} times real time, ` +
      `first segment after ${(firstSegmentMs / 1000).toFixed(1)} s\n` +
      `${segments} segments, ${words} words\n` +
      `server RSS ${megabytes(rssAtStart)} at the start, ${megabytes(rssMax)} at most\n` +
      [...uses].map(describeUse).join(''),
  );
}

await main();
