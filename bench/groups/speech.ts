import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type AudioFormat, audioFormats } from '../../src/core/entities/engine.ts';
import { takeTurns } from '../harness/drive.ts';
import { type Comparison, compare, type Group, type Setting } from '../harness/result.ts';
import type { Spoken } from '../servers/engine-alone.ts';
import { audioSeconds, runShell } from './programs.ts';
import {
  openSpeechClient,
  type SpeechClient,
  type SpeechRun,
  spokenText,
  startSpeechServer,
  voice,
} from './speech-call.ts';

const pipelineName = 'flite into ffmpeg';
/** Parley's own codecs and bitrates. */
const encoders: Readonly<Record<AudioFormat, string>> = {
  mp3: '-c:a libmp3lame -b:a 64k -f mp3',
  opus: '-c:a libopus -b:a 32k -f ogg',
  flac: '-c:a flac -f flac',
  wav: '-c:a pcm_s16le -f wav',
  pcm: '-c:a pcm_s16le -ar 24000 -f s16le',
};
/** The two may differ this much in length, as their pauses and margins differ. */
const lengthRatioMax = 1.25;

export const speech: Group = {
  name: 'speech',
  title: 'Speech',
  method:
    `Voice ${voice} of the built-in engine over REST, against Debian’s flite piped into ffmpeg with the same codec and bitrate, on ` +
    'all cores: time to the first byte, CPU of all processes and total time. And the total time against the same engine in one ' +
    'worker thread without encoding.',
  charts: [
    { name: 'speech-first-byte', question: 'How soon does speech begin?' },
    { name: 'speech-total', question: 'How long does speech take beside its engine alone?' },
  ],
  needs: ['flite', 'ffmpeg', 'bash'],
  async run(setting) {
    const server = await startSpeechServer();
    const client = openSpeechClient(server);
    try {
      const comparisons = [
        { ...(await againstEngine(client, 'mp3', setting)), aim: 'speechTotal' as const },
        await againstEngine(client, 'wav', setting),
      ];
      const { short, quick } = setting;
      for (const characters of short ? [40] : quick ? [4_000] : [40, 400, 4_000]) {
        for (const format of quick ? (['mp3', 'pcm'] as const) : audioFormats) {
          setting.say(`${characters} characters, ${format}`);
          comparisons.push(...(await againstPipeline(client, characters, format, setting)));
        }
      }
      return { comparisons: inOrder(comparisons), facts: [], notes: [] };
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
  checkLength(format, ours[0]?.audio, theirs[0]?.output);
  const what = { name: `${characters} characters, ${format}`, yardstick: pipelineName };
  const isLong = characters === 4_000;
  const firstByte = {
    ...what,
    unit: 'ms first byte',
    ...(isLong && format === 'mp3' && { aim: 'speechFirstByte' as const }),
    ...(format === 'mp3' && { chart: { name: 'speech-first-byte', label: what.name } }),
  };
  const cpu = {
    ...what,
    unit: 'ms CPU',
    ...(isLong && format === 'pcm' && { aim: 'speechPcmCpu' as const }),
  };
  const samples = { ours, theirs };
  return [
    compare<Costs>(firstByte, samples, ({ firstByteMs }) => firstByteMs),
    compare<Costs>(cpu, samples, ({ cpuMs }) => cpuMs),
    compare<Costs>({ ...what, unit: 'ms total' }, samples, ({ totalMs }) => totalMs),
  ];
}

type Costs = Omit<SpeechRun, 'audio'>;

function roundsFor(characters: number, short: boolean): number {
  if (short) return 1;
  return characters > 1_000 ? 4 : 5;
}

/** Throws where one spoke much longer than the other. */
function checkLength(format: AudioFormat, ours?: Buffer, theirs?: Buffer): void {
  if (ours === undefined || theirs === undefined) throw new Error('no audio');
  const ratio = audioSeconds(ours, format) / audioSeconds(theirs, format);
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
    const heard = first === undefined ? Number.NaN : audioSeconds(first.audio, format);
    const expected = theirs[0]?.audioSeconds ?? Number.NaN;
    if (!(Math.abs(heard - expected) < 0.5 + expected / 50)) {
      throw new Error(`Parley spoke for ${heard} s, its engine for ${expected} s`);
    }
    const what = {
      name: `${text.length} characters, ${format}`,
      yardstick: 'engine in one worker',
      unit: 'ms total',
      chart: { name: 'speech-total', label: `${text.length} characters, ${format}` },
    };
    return compare<Pick<Costs, 'totalMs'>>(what, { ours, theirs }, ({ totalMs }) => totalMs);
  } finally {
    await worker.terminate();
  }
}

const units = ['ms CPU', 'ms first byte', 'ms total'];
const inOrder = (comparisons: readonly Comparison[]) =>
  comparisons.toSorted((a, b) => units.indexOf(a.unit) - units.indexOf(b.unit));
