/** docs/limits.md is whole: every setting that limits something is on it, and it names no other. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configJsonSchema } from '../../scripts/config-schema.ts';
import { pendingMax } from '../../src/core/realtime/live-session.ts';
import { waitingMax } from '../../src/core/realtime/reports.ts';
import { sessionsMax } from '../../src/core/realtime/service.ts';
import { turnMsMax } from '../../src/core/realtime/session.ts';
import { sessionLimits } from '../../src/core/realtime/session-timers.ts';
import { freeBytes, unreadBytesMax, waitingBytesMax } from '../../src/transports/realtime/event-socket.ts';
import { fragmentsMax, messageBytesMax, pingEveryMs } from '../../src/transports/realtime/upgrade.ts';

const page = readFileSync('docs/limits.md', 'utf8');
const isLimit = /Max$|Ms$|Threads$|^recognizers$|^breakerFailures$/;
/** How often something is done, by Parley itself. */
const isNoLimit = /EveryMs$/;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The settings as the page names them: those of engines and models alone, others with their section. */
function settingsIn(schema: Schema, section = ''): string[] {
  const { properties = {}, additionalProperties, items, anyOf = [], oneOf = [] } = schema;
  const unnamed = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [
    ...Object.entries(properties).flatMap(([name, inner]) => [
      section === '' ? name : `${section}.${name}`,
      ...settingsIn(inner, section === '' ? name : `${section}.${name}`),
    ]),
    ...[...unnamed, ...(items ? [items] : []), ...anyOf, ...oneOf].flatMap((inner) => settingsIn(inner)),
  ];
}

const settings = settingsIn(JSON.parse(configJsonSchema()));
const lastOf = (setting: string) => setting.split('.').at(-1) ?? '';
const limits = settings.filter((name) => isLimit.test(lastOf(name)) && !isNoLimit.test(lastOf(name)));
const named = [...page.matchAll(/`([a-zA-Z.]+)`/g)].map(([, name = '']) =>
  name.replace(/^engines\.builtin\./, ''),
);

it('names every setting that is a limit', () => {
  expect(limits.length).toBeGreaterThan(30);
  expect(limits.filter((name) => !named.includes(name))).toEqual([]);
});

it('names only limits that are settings', () => {
  const unknown = named.filter((name) => isLimit.test(lastOf(name)) && !settings.includes(name));
  expect(unknown).toEqual([]);
});

it('states the limits of live sessions as they are', () => {
  const { sessionMsMax, idleMsMax } = sessionLimits;
  const minutes = (ms: number) => `${ms / 60_000} minutes`;
  const pingSeconds = pingEveryMs / 1000;
  const rows = [
    `sessions of a server | ${sessionsMax.toLocaleString('en')}, of one account ${sessionsMax / 2}`,
    `a session | ${minutes(sessionMsMax)}, ${minutes(idleMsMax)} without a message`,
    `a turn | ${turnMsMax / 1000} seconds`,
    `turns that wait for their text | ${pendingMax} for each session`,
    `answers that wait for a slow client | ${waitingMax} for each session`,
    `a message of a WebSocket | ${messageBytesMax / 2 ** 20} MiB, in ${fragmentsMax} fragments`,
    `a longer message than ${freeBytes / 2 ** 10} KiB, until it is handled | counts as ${messageBytesMax / 2 ** 20} MiB`,
    `a ping on a WebSocket, and its answer | every ${pingSeconds} s, ${pingSeconds} s`,
    `messages of a WebSocket that wait | ${waitingBytesMax / 2 ** 10} KiB`,
    `unread events of a WebSocket | ${unreadBytesMax / 2 ** 20} MiB`,
    `a client of a WebSocket that reads nothing | ${pingSeconds} to ${2 * pingSeconds} s`,
  ];
  expect(rows.filter((row) => !page.includes(`| ${row} `))).toEqual([]);
});
