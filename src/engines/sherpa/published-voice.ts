/**
 * Voices in the form that sherpa-onnx reads: of Piper, which publishes `NAME.onnx` and `NAME.onnx.json`, and of Kokoro, whose ONNX
 * file has no metadata either.
 */
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { isObject, parsedObject } from '../../core/values/json.ts';
import { findFile, type ModelFiles, onnxFields, type TypedFile, tokensOf } from './model-files.ts';

interface PublishedVoice {
  readonly main: TypedFile;
  readonly metadata: Readonly<Record<string, string>>;
  /** The content of `tokens.txt`. Undefined if the model has that file. */
  readonly tokens?: string;
  /** The voices of espeak-ng by their languages, if each request may choose one. */
  readonly readers?: ReadonlyMap<string, string>;
}

/** The styles of a voice of Kokoro: 510 lengths of 256 numbers of four bytes. */
const [styles, styleBytes] = ['510,1,256', 510 * 256 * 4];

/**
 * Undefined if the model has another form.
 * @throws an error that names what is missing
 */
export function publishedVoice(model: ModelFiles, typed: readonly TypedFile[]): PublishedVoice | undefined {
  return kokoroVoice(model, typed) ?? piperVoice(model, typed);
}

function kokoroVoice(model: ModelFiles, typed: readonly TypedFile[]): PublishedVoice | undefined {
  const main = typed.find(({ name, type }) => type === '' && /kokoro[^/]*$/i.test(name));
  const voices = findFile(model, /(^|\/)voices\.bin$/);
  if (main === undefined || voices === undefined) return undefined;
  const speakers = Math.floor(statSync(voices).size / styleBytes);
  const metadata = {
    model_type: 'kokoro',
    language: 'English',
    voice: 'en-us',
    has_espeak: '1',
    version: '1',
    sample_rate: '24000',
    style_dim: styles,
    n_speakers: String(speakers),
    speaker_names: Array.from({ length: speakers }, (_, at) => `speaker${at}`).join(','),
  };
  return { main, metadata, readers: espeakVoices(model) };
}

/** The voices in `espeak-ng-data/lang`, each a file, by their languages in lower case. */
function espeakVoices({ files }: ModelFiles): ReadonlyMap<string, string> {
  const best = new Map<string, { readonly voice: string; readonly rank: number }>();
  for (const { name, path } of files) {
    if (!/(^|\/)lang\/[^/]+\/[^/]+$/.test(name)) continue;
    for (const [, language = '', rank] of readFileSync(path, 'utf8').matchAll(languageLine)) {
      const found = { voice: basename(name), rank: Number(rank || 5) };
      if (found.rank < (best.get(language)?.rank ?? Infinity)) best.set(language, found);
    }
  }
  return new Map([...best].map(([language, { voice }]) => [language, voice]));
}

/** A language of a voice. The voice with the lowest rank is the main one of a language; without a rank it has 5. */
const languageLine = /^language +(\S+) *(\d*)/gm;

function piperVoice(model: ModelFiles, typed: readonly TypedFile[]): PublishedVoice | undefined {
  const configOf = ({ name }: TypedFile) => model.files.find((file) => file.name === `${name}.json`)?.path;
  const main = typed.find((file) => file.type === '' && configOf(file) !== undefined);
  if (main === undefined) return undefined;
  if (findFile(model, /(^|\/)phontab$/) === undefined)
    throw new Error(
      `The voice ${main.name} of Piper needs the folder espeak-ng-data, which is under GPL-3.0. Put it beside the files.`,
    );
  const facts = factsOf(readFileSync(configOf(main) ?? '', 'utf8'));
  if (facts === undefined)
    throw new Error(`${main.name}.json is no configuration of a Piper voice with espeak.`);
  return { main, ...facts };
}

function factsOf(text: string): Omit<PublishedVoice, 'main'> | undefined {
  const config = parsedObject(text) ?? {};
  const { espeak, audio, language, phoneme_id_map: ids, num_speakers: speakers } = config;
  if (!isObject(espeak) || !isObject(audio) || !isObject(ids)) return undefined;
  const { sample_rate: rate } = audio;
  if (typeof espeak['voice'] !== 'string' || typeof rate !== 'number' || typeof speakers !== 'number')
    return undefined;
  const name = isObject(language) ? language['name_english'] : undefined;
  const lines = Object.entries(ids)
    .filter(([symbol]) => symbol !== '\n')
    .map(([symbol, id]) => `${symbol} ${[id].flat()[0]}\n`);
  return {
    metadata: {
      model_type: 'vits',
      comment: 'piper',
      language: typeof name === 'string' ? name : 'English',
      voice: espeak['voice'],
      has_espeak: '1',
      n_speakers: String(speakers),
      sample_rate: String(rate),
    },
    tokens: lines.join(''),
  };
}

/**
 * Runs `load` with the files that sherpa-onnx reads: those of the model, or for a published voice some that are removed
 * afterwards.
 */
export async function inSherpaForm<Result>(
  model: ModelFiles,
  voice: PublishedVoice | undefined,
  load: (model: ModelFiles) => Promise<Result>,
): Promise<Result> {
  if (voice === undefined) return load(model);
  const folder = mkdtempSync(join(tmpdir(), 'parley-voice-'));
  try {
    const name = basename(voice.main.name);
    const [path, tokens] = [join(folder, name), join(folder, 'tokens.txt')];
    copyFileSync(voice.main.path, path);
    appendFileSync(path, metadataFields(voice.metadata));
    const made = [{ name, path }];
    if (voice.tokens !== undefined) {
      writeFileSync(tokens, voice.tokens);
      made.push({ name: 'tokens.txt', path: tokens });
    }
    const replaced = [voice.main.path, voice.tokens === undefined ? undefined : tokensOf(model)];
    const others = model.files.filter(({ path: other }) => !replaced.includes(other));
    return await load({ ...model, files: [...made, ...others] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function metadataFields(metadata: Readonly<Record<string, string>>): Uint8Array {
  const writer = new BinaryWriter();
  for (const [key, value] of Object.entries(metadata)) {
    const entry = new BinaryWriter();
    entry.tag(onnxFields.key, WireType.LengthDelimited).string(key);
    entry.tag(onnxFields.value, WireType.LengthDelimited).string(value);
    writer.tag(onnxFields.metadata, WireType.LengthDelimited).bytes(entry.finish());
  }
  return writer.finish();
}
