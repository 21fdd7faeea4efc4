import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { takeTurns } from '../harness/drive.ts';
import { inFolder } from '../harness/folder.ts';
import {
  type Comparison,
  compare,
  type Fact,
  type Group,
  type GroupResult,
  type Setting,
} from '../harness/result.ts';
import type { Served } from '../servers/child.ts';
import { type ProgramRun, runShell } from './programs.ts';
import { spokenText, startSpeechServer, voice } from './speech-call.ts';

const model = '/usr/share/pocketsphinx/model/en-us';

/** The recogniser has Parley's settings, which cost a quarter less than its own. */
const byHand =
  'ffmpeg -nostdin -v error -y -i "$AUDIO" -f s16le -ar 16000 -ac 1 "$FOLDER/speech.pcm" && ' +
  'pocketsphinx_batch -hmm "$HMM" -lm "$LM" -dict "$DICT" -ctl "$FOLDER/list" -cepdir "$FOLDER" -cepext .pcm ' +
  '-adcin yes -hyp "$FOLDER/text" -logfn /dev/null -cmn batch -remove_silence no -maxhmmpf 3000 -maxwpf 10 && ' +
  'cat "$FOLDER/text"';

export const transcription: Group = {
  name: 'transcription',
  title: 'Transcription',
  method:
    'An mp3 of half a minute, uploaded over REST, against ffmpeg and pocketsphinx_batch run by hand on the same file with ' +
    'Parley’s settings. By hand includes loading the model; the server has it loaded.',
  charts: [
    {
      name: 'transcription',
      question: 'What does a transcription take beside ffmpeg and the recogniser by hand?',
    },
  ],
  needs: ['flite', 'ffmpeg', 'bash', 'pocketsphinx_batch'],
  async run(setting) {
    const missing = missingHearing();
    if (missing !== undefined) return { comparisons: [], facts: [], notes: [missing] };
    const server = await startSpeechServer();
    return inFolder((folder) => measure(server, folder, setting)).finally(server.stop);
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
  // Parley cuts the audio into pieces; words at the cuts may differ.
  if (!(shared > 0.5)) throw new Error(`the transcripts share ${shared} of their words`);
  const what = { name: 'one upload', yardstick: 'ffmpeg, pocketsphinx_batch' };
  const chart = (label: string) => ({ name: 'transcription', label: `half a minute: ${label}` });
  const comparisons: Comparison[] = [
    compare<Costs>({ ...what, unit: 'ms CPU', chart: chart('CPU') }, samples, ({ cpuMs }) => cpuMs),
    compare<Costs>(
      { ...what, unit: 'ms total', aim: 'transcription', chart: chart('total time') },
      samples,
      ({ totalMs }) => totalMs,
    ),
  ];
  const facts: Fact[] = [{ name: 'words that both heard', unit: '% of words', values: [shared * 100] }];
  return { comparisons, facts, notes: [] };
}

function transcribeByHand(audioPath: string, folder: string): Promise<ProgramRun> {
  writeFileSync(join(folder, 'list'), 'speech\n');
  const env = {
    HMM: join(model, 'en-us'),
    LM: join(model, 'en-us.lm.bin'),
    DICT: join(model, 'cmudict-en-us.dict'),
  };
  return runShell(byHand, { ...env, AUDIO: audioPath, FOLDER: folder });
}

async function speak(characters: number, path: string): Promise<Buffer> {
  const line = `flite -voice ${voice} -t "$TEXT" -o /dev/stdout | ffmpeg -nostdin -v error -f wav -i pipe:0 -b:a 64k -f mp3 pipe:1`;
  const { output } = await runShell(line, { TEXT: spokenText(characters) });
  writeFileSync(path, output);
  return output;
}

interface Costs {
  readonly totalMs: number;
  readonly cpuMs: number;
}

interface Upload extends Costs {
  readonly text: string;
}

/** Uploads a recording over REST. */
export async function upload(server: Served, file: Buffer): Promise<Upload> {
  const [cpuMs, startedAt] = [await server.cpuMs(), performance.now()];
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
  return { text: String(JSON.parse(text).text), totalMs, cpuMs: (await server.cpuMs()) - cpuMs };
}

/** Returns the share of the second transcript's words that the first contains. */
function sharedWords(ours: string, theirs: string): number {
  const words = (text: string) => text.toLowerCase().match(/[a-z']+/g) ?? [];
  const heard = new Set(words(ours));
  // The recogniser appends the file's name and a score in brackets.
  const expected = words(theirs.replace(/\(.*\)/g, ''));
  return expected.filter((word) => heard.has(word)).length / expected.length;
}
