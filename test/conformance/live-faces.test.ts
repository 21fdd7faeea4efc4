/** One table of live sessions over every face: each gives the same texts and errors, the same records and the same units. */
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ParleyError } from '../../src/core/values/errors.ts';
import { until } from '../support/command-line.ts';
import { fakeTranscription, withFakes } from '../support/fake-engines.ts';
import { LiveClient } from '../support/live-client.ts';
import { Ear } from '../support/live-ear.ts';
import { startParley } from '../support/parley.ts';

/** A client of one face. Turns are committed by the client. */
interface Face {
  speak(seconds: number): void;
  commit(): void;
  clear(): void;
  /** The texts of turns and the codes of failed ones, in order. */
  ends(): readonly string[];
  /** Whether some words of a turn have arrived. */
  hasWords(): boolean;
  /** Ends the session after all turns, and resolves with the code of its error. */
  finish(): Promise<string | undefined>;
  /** The code of the error that ended the session. */
  readonly ended: Promise<string | undefined>;
  leave(): void;
}

function openRpc(wire: string, key: string): Face {
  const client = new LiveClient(parley, { wire, key });
  client.configure();
  return {
    speak: (seconds) => client.speak(new Int16Array(seconds * 16_000)),
    commit: () => client.commit(),
    clear: () => client.clear(),
    ends: () =>
      client.events.flatMap((event) => {
        if (event.case === 'turn') return [event.value.text];
        return event.case === 'failure' ? [event.value.code] : [];
      }),
    hasWords: () => client.all('partial').some(({ stableWords }) => stableWords > 0),
    finish: () => client.finish(),
    ended: client.ended,
    leave: () => client.leave(),
  };
}

/** Codes for which OpenAI's clients look, and those of the other faces. */
const openAiCodes: Readonly<Record<string, string>> = { input_audio_buffer_commit_empty: 'invalid_input' };

interface ServerEvent {
  readonly type: string;
  readonly transcript?: string;
  readonly error?: { readonly code: string };
}

function openWebSocket(_: string, key: string): Face {
  const url = `${parley.baseUrl.replace('http', 'ws')}/realtime?intent=transcription`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
  const events: ServerEvent[] = [];
  let hasEnded = false;
  let refusal: string | undefined;
  socket.on('message', (data) => events.push(JSON.parse(String(data))));
  socket.on('unexpected-response', (_request, response) => {
    response.on('data', (body) => {
      refusal = JSON.parse(String(body)).error.code;
      socket.terminate();
    });
  });
  socket.on('error', () => undefined);
  const ended = new Promise<string | undefined>((resolve) => {
    socket.once('close', (_code, reason) => {
      hasEnded = true;
      resolve(refusal ?? (String(reason) || undefined));
    });
  });
  const waiting = [
    JSON.stringify({ type: 'session.update', session: { audio: { input: { turn_detection: null } } } }),
  ];
  const send = (event: object) => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(event));
    else waiting.push(JSON.stringify(event));
  };
  socket.once('open', () => {
    for (const event of waiting) socket.send(event);
  });
  const ends = () =>
    events.flatMap(({ type, transcript, error }) => {
      if (transcript !== undefined) return [transcript];
      return type.endsWith('.failed') || type === 'error'
        ? [openAiCodes[error?.code ?? ''] ?? error?.code ?? '']
        : [];
    });
  let committed = 0;
  return {
    speak: (seconds) => {
      const audio = Buffer.alloc(4_800).toString('base64');
      for (let part = 0; part < seconds * 10; part++) send({ type: 'input_audio_buffer.append', audio });
    },
    commit: () => {
      committed++;
      send({ type: 'input_audio_buffer.commit' });
    },
    clear: () => send({ type: 'input_audio_buffer.clear' }),
    ends,
    hasWords: () => events.some(({ type }) => type.endsWith('.delta')),
    finish: async () => {
      // Without a half-closed state, the client waits for its texts.
      await until(() => hasEnded || ends().length >= committed);
      socket.close();
      return ended;
    },
    ended,
    leave: () => socket.terminate(),
  };
}

const faces: readonly (readonly [string, (wire: string, key: string) => Face])[] = [
  ['grpc', openRpc],
  ['connect', openRpc],
  ['websocket', openWebSocket],
];

interface LiveCase {
  readonly what: string;
  readonly trial?: boolean;
  readonly scopes?: string[];
  /** Returns what the client has seen. */
  readonly play: (face: Face) => Promise<unknown>;
  readonly seen: unknown;
  /** State, code and units of the records, those of the session and its turns. */
  readonly records: readonly (readonly [
    state: string,
    code: string | undefined,
    units: number | undefined,
  ])[];
}

const ended = async (face: Face) => ({ ends: face.ends(), code: await face.ended });
const finished = async (face: Face) => {
  const code = await face.finish();
  return { ends: face.ends(), code };
};
const heard = async () => until(() => (ear.turns.at(-1)?.seconds ?? 0) > 1.9);

const cases: readonly LiveCase[] = [
  {
    what: 'two turns',
    play: async (face) => {
      face.speak(2);
      face.commit();
      await until(() => face.ends().length === 1);
      face.speak(3);
      face.commit();
      return finished(face);
    },
    seen: { ends: ['heard 2', 'heard 3'] },
    records: [
      ['ok', undefined, 0],
      ['ok', undefined, 2],
      ['ok', undefined, 3],
    ],
  },
  {
    what: 'a turn that is cleared',
    play: async (face) => {
      face.speak(2);
      await heard();
      face.clear();
      return finished(face);
    },
    seen: { ends: [] },
    records: [
      ['cancelled', 'request_cancelled', 0],
      ['ok', undefined, 0],
    ],
  },
  {
    what: 'a commit without audio',
    play: async (face) => {
      face.commit();
      return finished(face);
    },
    seen: { ends: ['invalid_input'] },
    records: [['ok', undefined, 0]],
  },
  {
    what: 'a recogniser that fails',
    play: async (face) => {
      face.speak(2);
      await heard();
      ear.turns.at(-1)?.options.onFailure(new ParleyError('internal_error'));
      await until(() => face.ends().length === 1);
      return finished(face);
    },
    seen: { ends: ['internal_error'] },
    records: [
      ['failed', 'internal_error', 0],
      ['ok', undefined, 0],
    ],
  },
  {
    what: 'a client that leaves before any text',
    play: async (face) => {
      face.speak(2);
      await heard();
      // A client of HTTP/2 that leaves may end its side first.
      ear.goesOn = new Promise(() => undefined);
      face.leave();
      return undefined;
    },
    seen: undefined,
    records: [
      ['cancelled', 'request_cancelled', 0],
      ['cancelled', 'request_cancelled', 0],
    ],
  },
  {
    what: 'a client that leaves after some words',
    play: async (face) => {
      face.speak(2);
      await heard();
      for (const text of ['go', 'go on', 'go on now', 'go on now then']) {
        ear.turns.at(-1)?.options.onPartial(text);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await until(() => face.hasWords());
      ear.goesOn = new Promise(() => undefined);
      face.leave();
      return undefined;
    },
    seen: undefined,
    records: [
      ['cancelled', 'request_cancelled', 0],
      ['cancelled', 'request_cancelled', 2],
    ],
  },
  {
    what: 'the end of the fair use',
    play: async (face) => {
      face.speak(40);
      await face.ended;
      return ended(face);
    },
    seen: { ends: expect.arrayContaining(['heard 30']), code: 'fair_use_limit_reached' },
    records: [
      ['ok', undefined, 30],
      ['refused', 'fair_use_limit_reached', 0],
    ],
  },
  {
    what: 'an account without a plan',
    trial: false,
    play: ended,
    seen: { ends: [], code: 'subscription_required' },
    records: [['refused', 'subscription_required', undefined]],
  },
  {
    what: 'a key for speech alone',
    scopes: ['speech'],
    play: ended,
    seen: { ends: [], code: 'insufficient_scope' },
    records: [['refused', 'insufficient_scope', undefined]],
  },
];

const ear = new Ear((seconds) => `heard ${Math.round(seconds)}`);
const parley = await startParley({
  settings: { fairUse: { trialUnitsPerMonth: 30, transcriptionUnitsPerSecond: 1 } },
  engines: withFakes({ transcription: fakeTranscription({ openSpeaker: () => ear.openSpeaker() }) }),
});
afterAll(() => parley.close());

let accounts = 1;

describe('a live session, over every face:', () => {
  it.each(cases)('$what', async ({ trial = true, scopes = [], play, seen, records }) => {
    for (const [wire, open] of faces) {
      const key = await parley.newKey({ trial, scopes });
      const account = await parley.app.store.accounts.find(`account-${++accounts}`);
      ear.turns.length = 0;
      ear.goesOn = Promise.resolve();
      const face = open(wire, key);
      expect({ wire, seen: await play(face) }).toMatchObject({ wire, seen });
      const page = { size: 100, after: undefined };
      const listed = async () =>
        (await parley.app.store.usage.list({ accountId: account?.id }, page)).items.map((record) => record);
      const shown = async () =>
        (await listed()).map(({ state, code, fairUseUnits }) => [state, code, fairUseUnits]).sort(byText);
      await expect.poll(shown, { message: wire }).toEqual([...records].sort(byText));
      expect(new Set((await listed()).map((record) => record.wire))).toEqual(new Set([wire]));
      const { units } = await parley.books();
      const own = units.filter(({ account: name }) => name === account?.name);
      const used = own.reduce((sum, one) => sum + one.used + one.reserved, 0);
      expect(used).toBe(records.reduce((sum, [, , count = 0]) => sum + count, 0));
      const isCancelled = records.some(([state]) => state === 'cancelled');
      expect(ear.turns.some(({ isDropped }) => isDropped)).toBe(isCancelled);
    }
  });
});

const byText = (a: readonly unknown[], b: readonly unknown[]) => String(a).localeCompare(String(b));
