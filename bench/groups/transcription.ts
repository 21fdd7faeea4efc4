import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Group, Setting } from '../harness/group.ts';
import { cpuMsOfTree } from '../harness/processes.ts';
import type { Comparison, Fact, GroupResult } from '../harness/result.ts';
import { quantile } from '../harness/statistics.ts';
import { takeTurns } from '../harness/take-turns.ts';
import { type Served, startChild } from '../servers/child.ts';
import { transcribeByHand, whyNotByHand } from './by-hand.ts';
import { missingPrograms, runShell } from './programs.ts';
import { spokenText, voice } from './spoken-text.ts';

export const transcription: Group = {
  name: 'transcription',
  title: 'Transcription',
  method:
    'An mp3 of half a minute, uploaded over REST, against ffmpeg and pocketsphinx_batch by hand on the same file with the ' +
    'settings that Parley gives them, the loading of the model included; the server has its model loaded. Then so many uploads of ' +
    'a short file at once.',
  async run(setting) {
    const reason = whyNotByHand();
    const missing = missingPrograms(['flite', 'bash']);
    if (reason !== undefined || missing.length > 0) {
      return { comparisons: [], facts: [], notes: [reason ?? `Not installed: ${missing}.`] };
    }
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
    const server = await startChild('parley-audio');
    try {
      return await measure(server, folder, setting);
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true });
    }
  },
};

async function measure(server: Served, folder: string, setting: Setting): Promise<GroupResult> {
  const { short, say } = setting;
  const path = join(folder, 'speech.mp3');
  const file = await speak(short ? 60 : 450, path);
  say('by hand and by upload');
  const samples = await takeTurns(
    { theirs: () => transcribeByHand(path, folder), ours: () => upload(server, file) },
    { rounds: short ? 1 : 3, warmUps: short ? 0 : 1 },
  );
  const [ours] = samples.ours;
  const shared = sharedWords(ours?.text ?? '', samples.theirs[0]?.output.toString() ?? '');
  // The recogniser hears the same words in one piece and in several, but for those at the seams.
  if (!(shared > 0.5)) throw new Error(`the transcripts share ${shared} of their words`);
  const compared = { name: 'one upload', yardstick: 'ffmpeg, pocketsphinx_batch' };
  const comparisons: Comparison[] = [
    {
      ...compared,
      unit: 'ms CPU',
      ours: samples.ours.map(({ cpuMs }) => cpuMs),
      theirs: samples.theirs.map(({ cpuMs }) => cpuMs),
    },
    {
      ...compared,
      unit: 'ms total',
      ours: samples.ours.map(({ totalMs }) => totalMs),
      theirs: samples.theirs.map(({ totalMs }) => totalMs),
      aim: 'transcription',
    },
  ];
  const facts: Fact[] = [{ name: 'words that both heard', unit: '% of words', values: [shared * 100] }];
  return { comparisons, facts: [...facts, ...(await queueing(server, folder, setting))], notes: [] };
}

async function speak(characters: number, path: string): Promise<Buffer> {
  const line = `flite -voice ${voice} -t "$TEXT" -o /dev/stdout | ffmpeg -nostdin -v error -f wav -i pipe:0 -b:a 64k -f mp3 pipe:1`;
  const { output } = await runShell(line, { TEXT: spokenText(characters) });
  writeFileSync(path, output);
  return output;
}

interface Upload {
  readonly text: string;
  readonly totalMs: number;
  readonly cpuMs: number;
}

async function upload(server: Served, file: Buffer): Promise<Upload> {
  const [cpuMs, startedAt] = [cpuMsOfTree(server.pid), performance.now()];
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(file)]), 'speech.mp3');
  const answer = await fetch(`${server.origin}/api/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}` },
    body: form,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  const totalMs = performance.now() - startedAt;
  return { text: String(JSON.parse(text).text), totalMs, cpuMs: cpuMsOfTree(server.pid) - cpuMs };
}

/** Of the words of the second transcript, the share that the first has too. */
function sharedWords(ours: string, theirs: string): number {
  const words = (text: string) => text.toLowerCase().match(/[a-z']+/g) ?? [];
  const heard = new Set(words(ours));
  // The recogniser ends its line with the file's name, in brackets, and a score.
  const expected = words(theirs.replace(/\(.*\)/g, ''));
  return expected.filter((word) => heard.has(word)).length / expected.length;
}

/** How long the first, the middle and the last of several have to wait, in terms of one alone. */
async function queueing(server: Served, folder: string, { short, say }: Setting): Promise<Fact[]> {
  const file = await speak(60, join(folder, 'short.mp3'));
  const facts: Fact[] = [];
  let alone = Number.NaN;
  for (const uploads of short ? [1, 2] : [1, 2, 4, 8, 16]) {
    say(`${uploads} uploads at once`);
    const all = await Promise.all(Array.from({ length: uploads }, () => upload(server, file)));
    const times = all.map(({ totalMs }) => totalMs);
    if (uploads === 1) alone = times[0] ?? Number.NaN;
    const fact = (which: string, share: number) => ({
      name: `${uploads} at once, the ${which}`,
      unit: 'times one alone',
      values: [quantile(times, share) / alone],
    });
    facts.push(...(uploads === 1 ? [] : [fact('first', 0), fact('middle', 0.5), fact('last', 1)]));
  }
  return [{ name: 'one short upload alone', unit: 'ms', values: [alone] }, ...facts];
}
