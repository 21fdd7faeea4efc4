/**
 * Reads a list of voices. There is no standard; the branches below read these shapes: `{voices: [{id, name}]}`
 * (Kokoro-FastAPI, Open WebUI), `{voices: ["a"]}`, `{data: [{id}]}` (mlx-audio), `[{voice_id, model_id}]`, `{voices:
 * [{name, language}]}` in a model (speaches), `{voices, voiceDetails, defaultVoice}` in a model (Parley).
 */

import type { Voice, VoiceList } from '../../../core/entities/engine.ts';
import { isObject } from '../../../core/values/json.ts';
import { textOf } from '../json-values.ts';

const voicesMax = 10_000;
const idCharactersMax = 256;
/** The tag of an unknown language. */
const undetermined = 'und';

/** The voices of a model; undefined if there is no list or it is empty. @param model the upstream's name of the model */
export function readVoiceList(json: unknown, model: string): VoiceList | undefined {
  const voices = new Map<string, Voice>();
  for (const entry of entriesOf(json).slice(0, voicesMax)) {
    const voice = isOther(entry, model) ? undefined : readVoice(entry);
    if (voice !== undefined && !voices.has(voice.id)) voices.set(voice.id, voice);
  }
  const [first] = voices.values();
  if (first === undefined) return undefined;
  const named = isObject(json) ? textOf(json['defaultVoice']) : undefined;
  const defaultVoice = named !== undefined && voices.has(named) ? named : first.id;
  return { voices: [...voices.values()], defaultVoice };
}

/** The most detailed list that is not empty. */
function entriesOf(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json;
  if (!isObject(json)) return [];
  const lists = [json['voiceDetails'], json['voices'], json['data']];
  return lists.filter(Array.isArray).find(({ length }) => length > 0) ?? [];
}

/** A voice of another model, or a model: some servers answer an unknown path with their list of models. */
function isOther(entry: unknown, model: string): boolean {
  if (!isObject(entry)) return false;
  const own = textOf(entry['model_id']) ?? textOf(entry['model']);
  return entry['object'] === 'model' || (own !== undefined && own !== model);
}

function readVoice(entry: unknown): Voice | undefined {
  if (!isObject(entry)) return toVoice(textOf(entry), undefined);
  const id = textOf(entry['id']) ?? textOf(entry['voice_id']) ?? textOf(entry['name']);
  return toVoice(id, entry['language'] ?? entry['lang'] ?? entry['locale']);
}

function toVoice(id: string | undefined, language: unknown): Voice | undefined {
  if (id === undefined || id.length > idCharactersMax || /\p{Cc}/u.test(id)) return undefined;
  return { id, language: languageTag(textOf(Array.isArray(language) ? language[0] : language)) };
}

/** `en-US` for `en_us`; `und` for a name such as `English`. */
function languageTag(written: string | undefined): string {
  const tag = written?.replaceAll('_', '-');
  if (tag === undefined || !/^[A-Za-z]{2,3}(-|$)/.test(tag)) return undetermined;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? undetermined;
  } catch {
    return undetermined;
  }
}
