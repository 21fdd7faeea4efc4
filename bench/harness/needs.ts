/** Programs that groups need, and the Debian packages that have them. */
import { missingPrograms } from '../../test/support/audio-files.ts';

const packages = {
  h2load: 'nghttp2-client',
  cc: 'gcc',
  bash: 'bash',
  flite: 'flite',
  ffmpeg: 'ffmpeg',
  pocketsphinx_batch: 'pocketsphinx',
} as const;

export type Program = keyof typeof packages;

/** The program that loads servers over HTTP. */
export const httpLoad: readonly Program[] = ['h2load', 'cc'];

/** @returns what to install, or undefined if all are there */
export function whatToInstall(programs: readonly Program[]): string | undefined {
  const missing = programs.filter((program) => missingPrograms(program) !== undefined);
  if (missing.length === 0) return undefined;
  return `Left out: install the Debian package ${missing.map((program) => packages[program]).join(' and ')}.`;
}
