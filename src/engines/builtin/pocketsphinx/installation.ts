/** Where this machine has the recogniser and its English model, or what is missing of them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findPrograms } from '../../../media/decoding/child-process.ts';
import { type DecodeTools, findDecodeTools } from '../../../media/decoding/decode.ts';

export interface Installation {
  readonly decodeTools: DecodeTools;
  readonly recogniserPath: string;
  readonly model: RecognitionModel;
}

export interface RecognitionModel {
  readonly acousticFolder: string;
  readonly languageModelPath: string;
  readonly dictionaryPath: string;
}

export type InstallationLookup =
  | { readonly installation: Installation }
  | { readonly installation: undefined; readonly reason: string };

/** Debian's packages, a build from source, Homebrew on both kinds of Mac (the latter is the former's prefix too). */
const defaultModelFolders = [
  '/usr/share/pocketsphinx/model/en-us',
  '/usr/local/share/pocketsphinx/model/en-us',
  '/opt/homebrew/share/pocketsphinx/model/en-us',
];

/** Looks on PATH for the programs, and for the model in the first of `modelFolders` that has all three parts of it. */
export function findInstallation(modelFolders: readonly string[] = defaultModelFolders): InstallationLookup {
  const decodeTools = findDecodeTools();
  const recogniserPath = findPrograms(['pocketsphinx_batch']).get('pocketsphinx_batch');
  const model = modelFolders.map(modelIn).find((found) => found !== undefined);
  if (decodeTools !== undefined && recogniserPath !== undefined && model !== undefined) {
    return { installation: { decodeTools, recogniserPath, model } };
  }
  const missing = [
    ...(decodeTools === undefined ? ['the program ffmpeg'] : []),
    ...(recogniserPath === undefined ? ['the program pocketsphinx_batch'] : []),
    ...(model === undefined
      ? [`the English model of pocketsphinx (looked in ${modelFolders.join(', ')})`]
      : []),
  ];
  return {
    installation: undefined,
    reason:
      `The built-in transcription engine is missing ${missing.join(' and ')}. ` +
      'On Debian or Ubuntu: apt-get install ffmpeg pocketsphinx pocketsphinx-en-us',
  };
}

function modelIn(folder: string): RecognitionModel | undefined {
  const model = {
    acousticFolder: join(folder, 'en-us'),
    languageModelPath: join(folder, 'en-us.lm.bin'),
    dictionaryPath: join(folder, 'cmudict-en-us.dict'),
  };
  const parts = [join(model.acousticFolder, 'mdef'), model.languageModelPath, model.dictionaryPath];
  return parts.every((part) => existsSync(part)) ? model : undefined;
}
