/** What an operator would run without Parley: ffmpeg decodes a file, pocketsphinx_batch recognises it in one piece. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findInstallation } from '../../src/engines/builtin/pocketsphinx/installation.ts';
import { type ProgramRun, runShell } from './programs.ts';

/** The settings with which Parley runs it, which cost a quarter less than the recogniser's own. */
const line =
  'ffmpeg -nostdin -v error -y -i "$AUDIO" -f s16le -ar 16000 -ac 1 "$FOLDER/speech.pcm" && ' +
  'pocketsphinx_batch -hmm "$HMM" -lm "$LM" -dict "$DICT" -ctl "$FOLDER/list" -cepdir "$FOLDER" -cepext .pcm ' +
  '-adcin yes -hyp "$FOLDER/text" -logfn /dev/null -cmn batch -remove_silence no -maxhmmpf 3000 -maxwpf 10 && ' +
  'cat "$FOLDER/text"';

/** @returns why it cannot be run on this machine; undefined where it can */
export function whyNotByHand(): string | undefined {
  const lookup = findInstallation();
  return lookup.installation === undefined ? lookup.reason : undefined;
}

/** @param folder for what lies between the two programs */
export async function transcribeByHand(audioPath: string, folder: string): Promise<ProgramRun> {
  const { installation } = findInstallation();
  if (installation === undefined) throw new Error('pocketsphinx is not installed');
  const { acousticFolder, languageModelPath, dictionaryPath } = installation.model;
  writeFileSync(join(folder, 'list'), 'speech\n');
  const env = { HMM: acousticFolder, LM: languageModelPath, DICT: dictionaryPath };
  return runShell(line, { ...env, AUDIO: audioPath, FOLDER: folder });
}
