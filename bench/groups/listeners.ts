import type { Comparison, Fact, Group } from '../harness/result.ts';
import type { Served } from '../servers/child.ts';
import { audioSeconds, missingPrograms } from './programs.ts';
import { openSpeechClient, type SpeechClient, spokenText, startSpeechServer } from './speech-call.ts';

const characters = 400;
/** A player buffers this much before it begins. Later audio is heard as a gap. */
const playerBufferMs = 200;
const firstByteMsMax = 2_000;
const listenersMax = 256;

export const listeners: Group = {
  name: 'listeners',
  title: 'Concurrent listeners',
  method:
    `Clients ask for ${characters} characters as mp3, all at once. They keep up if each has its first sound within ` +
    `${firstByteMsMax / 1000} s, and no later sound arrives more than ${playerBufferMs} ms after the player needs it.`,
  async run({ short, say }) {
    const missing = missingPrograms(['ffmpeg']);
    if (missing.length > 0) return { comparisons: [], facts: [], notes: [`Not installed: ${missing}.`] };
    const server = await startSpeechServer();
    const client = openSpeechClient(server, listenersMax);
    try {
      const { audio } = await client.speak(spokenText(characters), 'mp3');
      const spoken: Spoken = { bytes: audio.length, seconds: await audioSeconds(audio, 'mp3') };
      const most = await mostThatKeepUp(server, client, spoken, short ? 2 : listenersMax, say);
      return { comparisons: [againstRealTime(most, spoken)], facts: factsOf(most, spoken), notes: [] };
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

interface Audience {
  readonly listeners: number;
  readonly keepsUp: boolean;
  readonly wallSeconds: number;
  readonly cpuMs: number;
}

/** Doubles the number until they do not keep up, then tries once between the last two. */
async function mostThatKeepUp(
  server: Served,
  client: SpeechClient,
  spoken: Spoken,
  max: number,
  say: (line: string) => void,
): Promise<Audience> {
  const gather = (count: number) => {
    say(`${count} listeners`);
    return listenAtOnce(server, client, spoken, count);
  };
  let best = await gather(1);
  let next = best;
  while (next.keepsUp && next.listeners < max) {
    best = next;
    next = await gather(best.listeners * 2);
  }
  if (next.keepsUp) return next;
  const between = best.listeners > 1 ? await gather(best.listeners * 1.5) : next;
  return between.keepsUp ? between : best;
}

async function listenAtOnce(
  server: Served,
  client: SpeechClient,
  spoken: Spoken,
  count: number,
): Promise<Audience> {
  const late = new AbortController();
  const [cpuMs, startedAt] = [await server.cpuMs(), performance.now()];
  const all = await Promise.all(Array.from({ length: count }, () => hears(client, spoken, late)));
  return {
    listeners: count,
    keepsUp: all.every((inTime) => inTime),
    wallSeconds: (performance.now() - startedAt) / 1000,
    cpuMs: (await server.cpuMs()) - cpuMs,
  };
}

/** Returns whether all audio arrives in time. The first late listener ends the trial for all. */
async function hears(client: SpeechClient, spoken: Spoken, late: AbortController): Promise<boolean> {
  const askedAt = performance.now();
  let firstAt: number | undefined;
  let bytes = 0;
  try {
    for await (const piece of client.listen(spokenText(characters), 'mp3', late.signal)) {
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

function againstRealTime({ listeners, wallSeconds }: Audience, { seconds }: Spoken): Comparison {
  return {
    name: `speech made for ${listeners} at once`,
    yardstick: 'what one listener hears',
    unit: 's of speech a second',
    ours: [(listeners * seconds) / wallSeconds],
    theirs: [1],
  };
}

function factsOf({ listeners, cpuMs }: Audience, { seconds }: Spoken): Fact[] {
  return [
    { name: 'listeners that keep up', unit: 'listeners', values: [listeners] },
    {
      name: 'CPU for a second of speech',
      unit: 'ms CPU',
      values: [cpuMs / (listeners * seconds)],
    },
  ];
}
