/** Finds the recogniser and its English model on this machine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findPrograms } from '../../../media/decoding/child-process.ts';
import { type DecodeTools, findDecodeTools } from '../../../media/decoding/decode.ts';

export interface Installation {
  readonly decodeTools: DecodeTools;
  readonly recogniserPath: string;
  readonly model: RecognitionModel;
}

interface RecognitionModel {
  readonly acousticFolder: string;
  readonly languageModelPath: string;
  readonly dictionaryPath: string;
}

type InstallationLookup =
  | { readonly installation: Installation }
  | { readonly installation: undefined; readonly reason: string };

/** Debian packages; a build from source or Homebrew on Intel; Homebrew on Apple silicon. */
const defaultModelFolders = [
  '/usr/share/pocketsphinx/model/en-us',
  '/usr/local/share/pocketsphinx/model/en-us',
  '/opt/homebrew/share/pocketsphinx/model/en-us',
];

/** Searches PATH for the programs, and `modelFolders` for the first with all three parts of the model. */
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
