import { hasMoonshine, missingHearing } from '../../src/media/hearing-files.ts';
import { wordErrors } from '../../test/support/word-errors.ts';
import { compare, type Fact, type Group, type GroupResult, type Setting } from '../harness/result.ts';
import { type Served, startChild } from '../servers/child.ts';
import { idleCosts, openers } from './live-idle.ts';
import { delaysOf } from './live-pace.ts';
import { readRecordings, rightShare, type Spoken, speakSentences } from './live-speech.ts';
import { hearBoth } from './live-turns.ts';

const people = 15;
const ofReader = { name: 'recordings of a reader: words right', unit: '%', aim: 'liveReader' } as const;
const withoutRecordings =
  'Without the recordings of a reader: install the Debian package pocketsphinx-testdata.';

export const live: Group = {
  name: 'live',
  title: 'Live transcription',
  method:
    'Sentences of flite and recordings of a reader over gRPC, in parts of 100 ms and with partial texts, against uploads of the same ' +
    'audio over REST, sentence by sentence. The client sends a part when the server has heard the one before. Then sessions that are ' +
    `open and silent, and ${people} people on two cores who speak 40 % of the time, at their own pace.`,
  charts: [
    { name: 'live', question: 'What does live transcription take beside uploads of the same speech?' },
  ],
  needs: ['flite'],
  async run(setting) {
    const missing = missingHearing();
    if (missing !== undefined) return { comparisons: [], facts: [], notes: [missing] };
    const engines = { builtin: { kind: 'builtin', recognizers: 2 } };
    const fairUse = { trialUnitsPerMonth: 1_000_000_000 };
    const server = await startChild('parley', [JSON.stringify({ engines, fairUse })], '0,1');
    try {
      const sentences = await speakSentences(setting.short ? 4 : undefined);
      const heard = await compareWithUploads(server, sentences, setting);
      const pace = await atOwnPace(server, sentences, setting);
      return { ...heard, facts: [...heard.facts, ...pace, ...(await idleSessions(setting))] };
    } finally {
      await server.stop();
    }
  },
};

async function compareWithUploads(
  server: Served,
  sentences: readonly Spoken[],
  { short, say }: Setting,
): Promise<GroupResult> {
  say('warm-up');
  await hearBoth(server, sentences.slice(0, short ? 1 : 5));
  say('live and by upload');
  const spoken = await hearBoth(server, sentences);
  const recordings = short ? [] : readRecordings();
  const read = await hearBoth(server, recordings);
  const all = [...sentences, ...recordings];
  const wrongWords = (texts: readonly { readonly text: string }[]) =>
    all.reduce((sum, { words }, at) => sum + wordErrors(words, texts[at]?.text ?? ''), 0);
  const wrong = {
    name: `wrong words of ${all.flatMap(({ words }) => words.split(' ')).length}`,
    ours: [wrongWords([...spoken.ours, ...read.ours])],
    theirs: [wrongWords([...spoken.theirs, ...read.theirs])],
  };
  const chart = (label: string) => ({ name: 'live', label });
  const inCpu = { name: 'a sentence', yardstick: 'its upload', unit: 'ms CPU' } as const;
  const rest = {
    name: 'from the end of speech to the text',
    yardstick: 'the whole sentence',
    unit: 'ms CPU',
  };
  const who = hasMoonshine() ? 'Moonshine' : 'Pocketsphinx';
  const cpu = { ...inCpu, aim: `liveCpu${who}`, chart: chart('CPU') } as const;
  const seconds = sentences.reduce((sum, { samples }) => sum + samples.length / 16_000, 0);
  const partials = spoken.ours.reduce((sum, turn) => sum + turn.partials, 0);
  const [finals, wholes] = [spoken.ours.map(({ finalMs }) => finalMs), spoken.ours.map((turn) => turn.cpuMs)];
  return {
    comparisons: [
      compare<{ readonly cpuMs: number }>(cpu, spoken, ({ cpuMs }) => cpuMs),
      { ...rest, aim: `liveFinal${who}`, ours: finals, theirs: wholes },
      { ...wrong, yardstick: 'uploads', unit: 'words', aim: 'liveErrors', chart: chart('wrong words') },
    ],
    facts: [
      // pocketsphinx hears a turn at its end.
      ...(partials > 0
        ? [{ name: 'partial texts', unit: 'a second of speech', values: [partials / seconds] }]
        : []),
      ...(recordings.length > 0 ? [{ ...ofReader, values: [rightShare(recordings, read.ours)] }] : []),
    ],
    notes: short || recordings.length > 0 ? [] : [withoutRecordings],
  };
}

async function atOwnPace(
  server: Served,
  sentences: readonly Spoken[],
  { short, quick, say }: Setting,
): Promise<Fact[]> {
  const count = short ? 2 : people;
  say(`${count} people at their own pace`);
  const delays = await delaysOf(server, sentences, count, short ? 0 : quick ? 15 : 30);
  const name = `${count} people: from the end of speech to the text`;
  return [
    { name, unit: 'ms', values: delays },
    { name: 'the latest text', unit: 'ms', values: [Math.max(...delays)], aim: 'liveLatest' },
  ];
}

async function idleSessions({ short, say }: Setting): Promise<Fact[]> {
  const count = short ? 50 : 1_000;
  const facts: Fact[] = [];
  for (const [wire, aim] of [
    ['WebSocket', 'liveIdleWebSocket'],
    ['gRPC', 'liveIdleGrpc'],
  ] as const) {
    say(`${count} idle sessions over ${wire}`);
    const { first, again } = await idleCosts(count, openers[wire]);
    const name = `idle session over ${wire}`;
    facts.push({ name, unit: 'KiB live', values: [again.live], aim });
    facts.push({ name: `${name}, the first time`, unit: 'KiB resident', values: [first.resident] });
  }
  return facts;
}
