/** Counts the wrong words and the CPU of each recogniser on the same speech. Then a recogniser hears what each voice speaks. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from '../../src/files/folders.ts';
import { hasMoonshine, hearingFolder, missingHearing } from '../../src/media/hearing-files.ts';
import { ModelStore } from '../../src/models/model-store.ts';
import { wavFile } from '../../test/support/audio-files.ts';
import { cpuMsOfAll } from '../harness/processes.ts';
import type { Fact, Group, GroupResult, Setting } from '../harness/result.ts';
import { type Child, startChild } from '../servers/child.ts';
import { readRecordings, rightShare, sentencesOf, speakSentences } from './live-speech.ts';
import { upload } from './transcription.ts';

const [inside, fallback, bySherpa] = ['Moonshine inside', 'pocketsphinx inside', 'Moonshine by sherpa-onnx'];

/** It takes some 2.7 s of CPU for a second of audio, so it speaks a quarter of the sentences. */
const slowVoice = 'kokoro-82m';

export const hearing: Group = {
  name: 'hearing',
  title: 'Recognisers and voices',
  method:
    'Each recogniser on the same files, one thread each: the five recordings of a reader in Debian’s pocketsphinx-testdata, else sentences of ' +
    'flite. Without a server for those inside, with the whole server for sherpa-onnx. Then 20 sentences that each voice speaks, Kokoro five of them, as Moonshine hears them.',
  charts: [],
  needs: ['flite'],
  async run(setting) {
    const missing = missingHearing();
    if (missing !== undefined) return { comparisons: [], facts: [], notes: [missing] };
    const recordings = setting.short ? [] : readRecordings();
    const read = recordings.length > 0 ? recordings : await speakSentences(setting.short ? 2 : undefined);
    const spoken = read.map(({ words, samples }) => ({ words, wav: wavFile(samples) }));
    const heard = new Map<string, Heard>();
    for (const [who, name] of Object.entries(recognisersInside())) {
      const child = await startChild('recogniser-alone', [name]);
      heard.set(who, await heardBy(child, spoken).finally(child.stop));
    }
    const [ours, theirs] = [heard.get(inside), heard.get(fallback)];
    const local = await localPart(spoken, setting);
    const inMs = ({ cpu }: Heard) => cpu.map((share) => 1_000 * share);
    const what = { name: 'a second of audio', who: inside, yardstick: fallback, unit: 'ms CPU' };
    const comparison = ours && theirs && { ours: inMs(ours), theirs: inMs(theirs) };
    return {
      comparisons: comparison ? [{ ...what, ...comparison, aim: 'hearingCpu' }] : [],
      facts: [
        ...(ours ? factsOf(inside, ours, recordings.length > 0) : []),
        ...(theirs ? factsOf(fallback, theirs) : []),
        ...local.facts,
      ],
      notes: local.notes,
    };
  },
};

/** Those that set-up has provided. */
function recognisersInside(): Readonly<Record<string, string>> {
  const hasFallback = existsSync(join(hearingFolder, 'recogniser.image'));
  return {
    ...(hasMoonshine() && { [inside]: 'moonshine' }),
    ...(hasFallback && { [fallback]: 'pocketsphinx' }),
  };
}

interface Heard {
  /** Words in percent. */
  readonly right: number;
  /** Seconds of CPU a second of audio, of each file. */
  readonly cpu: readonly number[];
}

function factsOf(who: string, { right, cpu }: Heard, isAim = false): Fact[] {
  return [
    { name: `${who}: words right`, unit: '%', values: [right], ...(isAim && { aim: 'hearingRight' }) },
    { name: `${who}: CPU`, unit: 's a second of audio', values: cpu },
  ];
}

interface Recording {
  readonly words: string;
  readonly wav: Buffer;
}

const heardBy = (child: Child, spoken: readonly Recording[]) =>
  hear(spoken, child.pid, async (wav) => {
    const { text } = (await child.ask({ wav: wav.toString('base64') })) as { text: string };
    return text;
  });

/** The first file is heard twice, as models are loaded for it. */
async function hear(
  spoken: readonly Recording[],
  pid: number,
  ask: (wav: Buffer) => Promise<string>,
): Promise<Heard> {
  const heard: { readonly text: string; readonly cpu: number }[] = [];
  for (const { wav } of [...spoken.slice(0, 1), ...spoken]) {
    const before = cpuMsOfAll(pid);
    const text = await ask(wav);
    heard.push({ text, cpu: (cpuMsOfAll(pid) - before) / (1_000 * secondsOf(wav)) });
  }
  const counted = heard.slice(1);
  return { right: rightShare(spoken, counted), cpu: counted.map(({ cpu }) => cpu) };
}

/** A WAV file of one channel of 16 bits, whose header may not know its length. */
const secondsOf = (wav: Buffer) => (wav.length - 44) / 2 / wav.readUInt32LE(24);

/** The local models of the cache, where a registry brings Moonshine for sherpa-onnx. Other voices that are put there are measured, too. */
async function localPart(
  spoken: readonly Recording[],
  { short, cacheDir, say }: Setting,
): Promise<Omit<GroupResult, 'comparisons'>> {
  const data = join(cacheDir, 'local', 'data');
  makeFolder(data, 0o700);
  const notes: string[] = [];
  for (const id of short ? [] : ['moonshine-tiny-en', 'piper-kristin', slowVoice]) {
    say(`brings ${id}`);
    const main = join(import.meta.dirname, '../../src/main.ts');
    await promisify(execFile)(process.execPath, [main, 'models', 'pull', id, '--yes'], {
      cwd: join(cacheDir, 'local'),
    }).catch(({ stderr }) =>
      notes.push(`${id} is left out: ${String(stderr).trim().split('\n').at(-1)?.trim()}`),
    );
  }
  const present = short ? [] : new ModelStore(data).list().filter(({ isPulled }) => isPulled);
  const voices = present.flatMap(({ manifest: { id, type } }) => (type === 'speech' ? [id] : []));
  const ears = present.filter(({ manifest: { id } }) => id === 'moonshine-tiny-en');
  const settings = {
    engines: { local: { kind: 'local', threads: 1 }, builtin: { kind: 'builtin' } },
    fairUse: { trialUnitsPerMonth: 1_000_000_000 },
    realtime: [],
    models: [
      { id: 'flite', type: 'speech', engine: 'builtin' },
      ...voices.map((id) => ({ id, type: 'speech', engine: 'local' })),
      ...ears.map(({ manifest: { id } }) => ({ id, type: 'transcription', engine: 'local' })),
    ],
  };
  const server = await startChild('parley', [JSON.stringify(settings), data]);
  try {
    const facts: Fact[] = [];
    if (ears.length > 0)
      facts.push(
        ...factsOf(bySherpa, await hear(spoken, server.pid, async (wav) => (await upload(server, wav)).text)),
      );
    if (!hasMoonshine())
      return { facts, notes: [...notes, 'Voices are left out: Moonshine is not there. npm run build'] };
    for (const voice of ['flite', ...voices]) facts.push(...(await roundTrip(server, voice, short)));
    return { facts, notes };
  } finally {
    await server.stop();
  }
}

/** A voice speaks sentences, and Moonshine hears them. */
async function roundTrip(server: Child, model: string, short: boolean): Promise<Fact[]> {
  const all = sentencesOf(short);
  const sentences = model === slowVoice ? all.slice(0, Math.ceil(all.length / 4)) : all;
  await said(server, model, sentences[0] ?? '');
  const before = cpuMsOfAll(server.pid);
  const spoken: Recording[] = [];
  for (const words of sentences) spoken.push({ words, wav: await said(server, model, words) });
  const cpuMs = cpuMsOfAll(server.pid) - before;
  const seconds = spoken.reduce((sum, { wav }) => sum + secondsOf(wav), 0);
  const ear = await startChild('recogniser-alone', ['moonshine']);
  const { right } = await heardBy(ear, spoken).finally(ear.stop);
  return [
    { name: `voice ${model}: words that Moonshine gets right`, unit: '%', values: [right] },
    { name: `voice ${model}: CPU`, unit: 's a second of audio', values: [cpuMs / 1_000 / seconds] },
  ];
}

async function said({ origin, key }: Child, model: string, input: string): Promise<Buffer> {
  const answer = await fetch(`${origin}/api/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, input, response_format: 'wav' }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}
