/** Settings of chats under names, in this browser. */
import type { ChatSettings } from './chat-run.ts';

export type Presets = Readonly<Record<string, ChatSettings>>;

export const presetsMax = 50;
export const noSettings: ChatSettings = { system: '', temperature: '', maxTokens: '', tools: '' };

const keyOf = (owner: string): string => `parley-presets ${owner}`;

export function readPresets(owner: string): Presets {
  const kept = JSON.parse(localStorage.getItem(keyOf(owner)) ?? '{}') as Presets;
  // An earlier version may have had fewer settings.
  return Object.fromEntries(Object.entries(kept).map(([name, one]) => [name, { ...noSettings, ...one }]));
}

/** @throws DOMException if the browser has no space */
export function writePresets(owner: string, presets: Presets): void {
  localStorage.setItem(keyOf(owner), JSON.stringify(presets));
}
