import type { Group, Setting } from '../harness/result.ts';
import type { Served } from '../servers/child.ts';
import { audioSeconds } from './programs.ts';
import { openSpeechClient, type SpeechClient, spokenText, startSpeechServer } from './speech-call.ts';

const characters = 400;
const text = spokenText(characters);
/** A player buffers this much before it begins. Later audio makes a gap. */
const playerBufferMs = 200;
const firstByteMsMax = 2_000;
const listenersMax = 256;

export const listeners: Group = {
  name: 'listeners',
  title: 'Concurrent listeners',
  method:
    `Clients ask for ${characters} characters as mp3, all at once. They keep up if each has its first sound within ` +
    `${firstByteMsMax / 1000} s, and no later sound arrives more than ${playerBufferMs} ms after the player needs it.`,
  charts: [],
  needs: ['ffmpeg'],
  async run(setting) {
    const server = await startSpeechServer();
    const client = openSpeechClient(server, listenersMax);
    try {
      const { audio } = await client.speak(text, 'mp3');
      const spoken = { bytes: audio.length, seconds: audioSeconds(audio, 'mp3') };
      return resultOf(await mostThatKeepUp(server, client, spoken, setting), spoken);
    } finally {
      await client.close();
      await server.stop();
    }
  },
};

interface Spoken {
  readonly bytes: number;
  readonly seconds: number;
}

interface Trial {
  readonly count: number;
  readonly keepsUp: boolean;
  readonly wallSeconds: number;
  readonly cpuMs: number;
}

/** Doubles the number until they do not keep up, then tries once between the last two. */
async function mostThatKeepUp(
  server: Served,
  client: SpeechClient,
  spoken: Spoken,
  { short, say }: Setting,
): Promise<Trial> {
  const max = short ? 2 : listenersMax;
  const attempt = async (count: number): Promise<Trial> => {
    say(`${count} listeners`);
    const late = new AbortController();
    const [cpuMs, startedAt] = [await server.cpuMs(), performance.now()];
    const all = await Promise.all(Array.from({ length: count }, () => keepsUp(client, spoken, late)));
    const wallSeconds = (performance.now() - startedAt) / 1000;
    return { count, keepsUp: all.every(Boolean), wallSeconds, cpuMs: (await server.cpuMs()) - cpuMs };
  };
  let best = await attempt(1);
  let next = best;
  while (next.keepsUp && next.count < max) {
    best = next;
    next = await attempt(best.count * 2);
  }
  if (next.keepsUp || best.count === 1) return next.keepsUp ? next : best;
  const between = await attempt(best.count * 1.5);
  return between.keepsUp ? between : best;
}

/** Returns whether all audio arrives in time. The first late listener ends the trial for all. */
async function keepsUp(client: SpeechClient, spoken: Spoken, late: AbortController): Promise<boolean> {
  const askedAt = performance.now();
  let firstAt: number | undefined;
  let bytes = 0;
  try {
    for await (const piece of client.listen(text, 'mp3', late.signal)) {
      const now = performance.now();
      firstAt ??= now;
      // The bitrate is constant: the share of bytes is the share of time.
      const heardMs = (bytes / spoken.bytes) * spoken.seconds * 1000;
      if (firstAt - askedAt > firstByteMsMax || now - firstAt - heardMs > playerBufferMs) late.abort();
      bytes += piece.length;
    }
  } catch (error) {
    if (late.signal.aborted) return false;
    throw error;
  }
  if (bytes !== spoken.bytes) throw new Error(`a listener got ${bytes} bytes of ${spoken.bytes}`);
  return !late.signal.aborted;
}

function resultOf({ count, wallSeconds, cpuMs }: Trial, { seconds }: Spoken) {
  const realTime = {
    name: `speech made for ${count} at once`,
    yardstick: 'what one listener hears',
    unit: 's of speech a second',
    ours: [(count * seconds) / wallSeconds],
    theirs: [1],
  };
  const facts = [
    { name: 'listeners that keep up', unit: 'listeners', values: [count] },
    { name: 'CPU for a second of speech', unit: 'ms CPU', values: [cpuMs / (count * seconds)] },
  ];
  return { comparisons: [realTime], facts, notes: [] };
}
