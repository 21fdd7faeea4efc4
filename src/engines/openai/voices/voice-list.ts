/** The voices of a speech model: from the configuration, or as its upstream lists them. */

import { textOf } from '../../../codec/shape.ts';
import type { Voice, VoiceList } from '../../../core/entities/engine.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { isObject } from '../../../core/values/json.ts';
import type { Signal } from '../../../core/values/signal.ts';
import type { Upstream } from '../calls/upstream.ts';
import type { Known } from '../reported-value.ts';

const listBytesMax = 4 * 1024 * 1024;
/** Statuses that say nothing about whether there is a list. */
const inconclusiveStatuses: readonly number[] = [401, 403, 408, 425, 429];
const voicesMax = 10_000;
const idCharactersMax = 256;
/** The tag of an unknown language. */
const undetermined = 'und';

/** At least one voice from the configuration, each with its language. */
export function configuredVoices(languages: Readonly<Record<string, string>>): Known<VoiceList> {
  const voices = Object.entries(languages).map(([id, language]) => ({ id, language }));
  const list = { voices, defaultVoice: voices[0]?.id ?? '' };
  return { availability: () => ({ available: true }), value: () => list };
}

/**
 * Reads the voices that an upstream lists for a model. Asks for the model's own list first, as other lists may cover
 * all models. Undefined if there is none.
 *
 * @param model the upstream's name of the model
 * @throws `upstream_error`, or the signal's reason
 */
export async function readListedVoices(
  upstream: Upstream,
  model: string,
  signal: Signal,
): Promise<VoiceList | undefined> {
  const query = encodeURIComponent(model);
  const paths = [
    `/models/${model.split('/').map(encodeURIComponent).join('/')}`,
    `/audio/voices?model=${query}`,
    `/audio/speech/voices?model_id=${query}`,
  ];
  for (const path of paths) {
    try {
      const headers = { accept: 'application/json' };
      const answer = await upstream.call({ method: 'GET', path, headers, signal });
      // Some servers answer every path with an HTML page.
      if (answer.contentType.startsWith('text/')) {
        answer.close();
        continue;
      }
      const list = readVoiceList(await answer.json(listBytesMax), model);
      if (list) return list;
    } catch (error) {
      if (!isNotThere(error)) throw error;
    }
  }
  return undefined;
}

function isNotThere(error: unknown): boolean {
  if (!(error instanceof ParleyError)) return false;
  const { httpStatus } = error;
  return (
    (httpStatus >= 400 && httpStatus < 500 && !inconclusiveStatuses.includes(httpStatus)) ||
    httpStatus === 501
  );
}

/**
 * Why no voices are known, with advice.
 * @param error undefined if the upstream answered without a list
 */
export function noVoicesReason(engine: string, error: unknown): string {
  const setting = `engines.${engine}.voices`;
  return error === undefined
    ? `The server of the engine ${engine} lists no voices for this model. Write them in parley.yaml under ${setting}.`
    : `The server of the engine ${engine} could not be asked for its voices. Check that it runs and takes the key, or write them under ${setting}.`;
}

/**
 * The voices of a model; undefined if there is no list or it is empty. There is no standard; these shapes are read: `{voices: [{id, name}]}`
 * (Kokoro-FastAPI, Open WebUI), `{voices: ["a"]}`, `{data: [{id}]}` (mlx-audio), `[{voice_id, model_id}]`, `{voices:
 * [{name, language}]}` in a model (speaches), `{voices, voiceDetails, defaultVoice}` in a model (Parley).
 *
 * @param model the upstream's name of the model
 */
function readVoiceList(json: unknown, model: string): VoiceList | undefined {
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
