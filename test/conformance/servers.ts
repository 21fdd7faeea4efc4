/** The servers that the table runs against, in this process. */
import { type Parley, startParley } from '../support/parley.ts';
import type { ServerName } from './case.ts';
import { playingEngines } from './play.ts';
import type { Target } from './wire.ts';

/** Units that an account on trial has a month with the playing server. */
export const trialUnits = 1000;
const fairUse = { trialUnitsPerMonth: trialUnits };
const strictFile = new URL('strict.yaml', import.meta.url).pathname;

const starts: Readonly<Record<ServerName, () => Promise<Parley>>> = {
  /** As it comes. */
  builtin: () => startParley(),
  /** With engines that do what the request says. */
  playing: () => startParley({ engines: playingEngines(), settings: { fairUse } }),
  /** The same without a model for transcription, and with little time for a request. */
  strict: () => startParley({ engines: playingEngines(), file: strictFile }),
};

export interface RunningTarget extends Target {
  close(): Promise<void>;
}

export async function startTarget(name: ServerName): Promise<RunningTarget> {
  const parley = await starts[name]();
  return { origin: new URL(parley.baseUrl).origin, adminKey: parley.adminKey, close: () => parley.close() };
}
