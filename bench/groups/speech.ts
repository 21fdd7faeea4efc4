import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { type AudioFormat, audioFormats } from '../../src/core/ports/engines.ts';
import type { Group, Setting } from '../harness/group.ts';
import type { Comparison, Fact } from '../harness/result.ts';
import { quantile } from '../harness/statistics.ts';
import { takeTurns } from '../harness/take-turns.ts';
import { type Served, startChild } from '../servers/child.ts';
import type { Spoken } from '../servers/engine-alone.ts';
import { audioSeconds, missingPrograms, runShell } from './programs.ts';
import { openSpeechClient, type SpeechClient } from './speech-call.ts';
import { spokenText, voice } from './spoken-text.ts';

const pipelineName = 'flite into ffmpeg';
/** With the settings that Parley encodes with. */
const encoders: Readonly<Record<AudioFormat, string>> = {
  mp3: '-c:a libmp3lame -b:a 64k -f mp3',
  opus: '-c:a libopus -b:a 32k -f ogg',
  flac: '-c:a flac -f flac',
  wav: '-c:a pcm_s16le -f wav',
  pcm: '-c:a pcm_s16le -ar 24000 -f s16le',
};
/** What a text of this length may be longer or shorter in one than in the other: pauses differ, and so do margins. */
const lengthRatioMax = 1.25;

export const speech: Group = {
  name: 'speech',
  title: 'Speech',
  method:
    `Voice ${voice} of the built-in engine over REST, against Debian’s flite piped into ffmpeg with the same codec and bitrate, on ` +
    'all cores. Time to the first byte, CPU of all processes and total time; and the total against the same engine in one worker ' +
    'of this process that encodes nothing.',
  async run(setting) {
    const missing = missingPrograms(['flite', 'ffmpeg', 'bash']);
    if (missing.length > 0) return { comparisons: [], facts: [], notes: [`Not installed: ${missing}.`] };
    const server = await startChild('parley-audio');
    const client = openSpeechClient(server);
    try {
      const comparisons = [
        { ...(await againstEngine(client, 'mp3', setting)), aim: 'speechTotal' as const },
        await againstEngine(client, 'wav', setting),
      ];
      for (const characters of setting.short ? [40] : [40, 400, 4_000]) {
        for (const format of audioFormats) {
          setting.say(`${characters} characters, ${format}`);
          comparisons.push(...(await againstPipeline(client, characters, format, setting)));
        }
      }
      const facts = await whileSpeaking(server, client, setting);
      return { comparisons: inOrder(comparisons), facts, notes: [] };
    } finally {
      await client.close();
      await server.stop();
    }
  },
};

async function againstPipeline(
  client: SpeechClient,
  characters: number,
  format: AudioFormat,
  { short }: Setting,
): Promise<Comparison[]> {
  const text = spokenText(characters);
  const line = `flite -voice ${voice} -t "$TEXT" -o /dev/stdout | ffmpeg -nostdin -v error -f wav -i pipe:0 -flush_packets 1 ${encoders[format]} pipe:1`;
  const { ours, theirs } = await takeTurns(
    { theirs: () => runShell(line, { TEXT: text }), ours: () => client.speak(text, format) },
    { rounds: roundsFor(characters, short), warmUps: short || characters > 1_000 ? 0 : 1 },
  );
  await checkLength(format, ours[0]?.audio, theirs[0]?.output);
  const name = `${characters} characters, ${format}`;
  const against = (unit: string, mine: readonly number[], other: readonly number[]): Comparison => ({
    name,
    yardstick: pipelineName,
    unit,
    ours: mine,
    theirs: other,
  });
  const firstByte = against(
    'ms first byte',
    ours.map(({ firstByteMs }) => firstByteMs),
    theirs.map(({ firstByteMs }) => firstByteMs),
  );
  const isAim = characters === 4_000 && format === 'mp3';
  return [
    isAim ? { ...firstByte, aim: 'speechFirstByte' } : firstByte,
    against(
      'ms CPU',
      ours.map(({ cpuMs }) => cpuMs),
      theirs.map(({ cpuMs }) => cpuMs),
    ),
    against(
      'ms total',
      ours.map(({ totalMs }) => totalMs),
      theirs.map(({ totalMs }) => totalMs),
    ),
  ];
}

function roundsFor(characters: number, short: boolean): number {
  if (short) return 1;
  return characters > 1_000 ? 2 : 5;
}

/** Nothing is cut: both have said about as much. */
async function checkLength(format: AudioFormat, ours?: Buffer, theirs?: Buffer): Promise<void> {
  if (ours === undefined || theirs === undefined) throw new Error('nothing was said');
  const ratio = (await audioSeconds(ours, format)) / (await audioSeconds(theirs, format));
  if (!(ratio < lengthRatioMax && ratio > 1 / lengthRatioMax)) {
    throw new Error(`${format}: Parley spoke for ${ratio} times as long as flite`);
  }
}

async function againstEngine(
  client: SpeechClient,
  format: AudioFormat,
  { short, say }: Setting,
): Promise<Comparison> {
  const text = spokenText(short ? 400 : 4_000);
  say(`the engine alone, ${format}`);
  const worker = new Worker(new URL('../servers/engine-alone.ts', import.meta.url));
  const alone = async (): Promise<Spoken> => {
    worker.postMessage({ text, voice });
    const [spoken] = (await once(worker, 'message')) as [Spoken];
    return spoken;
  };
  try {
    const { ours, theirs } = await takeTurns(
      { theirs: alone, ours: () => client.speak(text, format) },
      { rounds: short ? 1 : 4, warmUps: short ? 0 : 1 },
    );
    const [first] = ours;
    const heard = first === undefined ? Number.NaN : await audioSeconds(first.audio, format);
    const expected = theirs[0]?.audioSeconds ?? Number.NaN;
    if (!(Math.abs(heard - expected) < 0.5 + expected / 50)) {
      throw new Error(`Parley spoke for ${heard} s of the ${expected} s that its engine says`);
    }
    return {
      name: `${text.length} characters, ${format}`,
      yardstick: 'engine in one worker',
      unit: 'ms total',
      ours: ours.map(({ totalMs }) => totalMs),
      theirs: theirs.map(({ totalMs }) => totalMs),
    };
  } finally {
    await worker.terminate();
  }
}

/** What other requests wait while the cores speak. */
async function whileSpeaking(server: Served, client: SpeechClient, { short, say }: Setting): Promise<Fact[]> {
  say('other requests while speaking');
  const idle = await latencies(server, until(short ? 50 : 1_000));
  const speaking = client.speak(spokenText(short ? 400 : 4_000), 'mp3');
  let isDone = false;
  const done = speaking.finally(() => {
    isDone = true;
  });
  const busy = await latencies(server, () => isDone);
  await done;
  return [
    ...latencyFacts('GET /models, idle', idle),
    ...latencyFacts('GET /models, while 4,000 characters are spoken', busy),
  ];
}

const until = (ms: number) => {
  const endsAt = performance.now() + ms;
  return () => performance.now() > endsAt;
};

async function latencies({ origin, key }: Served, isOver: () => boolean): Promise<number[]> {
  const pool = new Pool(origin, { connections: 1 });
  const times: number[] = [];
  do {
    const sentAt = performance.now();
    const headers = { authorization: `Bearer ${key}` };
    const answer = await pool.request({ method: 'GET', path: '/api/v1/models', headers });
    await answer.body.text();
    times.push(performance.now() - sentAt);
  } while (!isOver());
  await pool.close();
  return times;
}

const latencyFacts = (name: string, times: readonly number[]): Fact[] => [
  { name: `${name}, p50`, unit: 'ms', values: [quantile(times, 0.5)] },
  { name: `${name}, p99`, unit: 'ms', values: [quantile(times, 0.99)] },
];

const units = ['ms CPU', 'ms first byte', 'ms total'];
const inOrder = (comparisons: readonly Comparison[]) =>
  comparisons.toSorted((a, b) => units.indexOf(a.unit) - units.indexOf(b.unit));
