import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Diagnostic, ok, problem, warning } from '../../core/diagnostics.ts';
import { findPrograms } from '../../media/decoding/child-process.ts';
import { type Diagnosis, voicesDiagnostic } from '../diagnostics.ts';
import { compileFlite } from './flite/module.ts';
import { FliteProgram } from './flite/program.ts';
import { fliteVoices } from './flite/voices.ts';
import { findInstallation, type Installation } from './pocketsphinx/installation.ts';

const run = promisify(execFile);

/** Checks what the models need: flite for speech; ffmpeg, pocketsphinx and its model for transcription. */
export async function diagnoseBuiltin({ models, signal }: Diagnosis): Promise<Diagnostic[]> {
  const speech = models.filter(({ type }) => type === 'speech');
  const [fliteFound, recognitionFound] = await Promise.all([
    speech.length === 0 ? [] : diagnoseFlite(),
    models.some(({ type }) => type === 'transcription') ? diagnoseRecognition(signal) : [],
  ]);
  const voices = speech.map((model) =>
    voicesDiagnostic(
      model,
      fliteVoices.map(({ id }) => id),
    ),
  );
  const chats = models.filter(({ type }) => type === 'chat');
  return [
    ...fliteFound,
    ...voices,
    ...recognitionFound,
    ...chats.map(({ id }) => ok(`model ${id}`, 'It is part of the program.')),
  ];
}

async function diagnoseFlite(): Promise<Diagnostic[]> {
  try {
    new FliteProgram(await compileFlite()).run(['-lv']);
    return [ok('flite', 'It loads.')];
  } catch (error) {
    return [
      problem('flite', `It does not load (${String(error)}).`, 'Install the dependencies of Parley again.'),
    ];
  }
}

async function diagnoseRecognition(signal: AbortSignal): Promise<Diagnostic[]> {
  const lookup = findInstallation();
  if (lookup.installation === undefined) {
    // The reason ends with the command that installs it.
    const [found = '', advice = ''] = lookup.reason.split(/(?<=\.) (?=On )/);
    return [problem('pocketsphinx', found, advice)];
  }
  const { installation } = lookup;
  return [
    await diagnoseFfmpeg(installation, signal),
    ok(
      'pocketsphinx',
      `${installation.recogniserPath}, with the model ${installation.model.acousticFolder}.`,
    ),
    diagnoseMkfifo(),
    diagnosePrlimit(installation),
  ];
}

/** Runs the program, as it may lack a library. */
async function diagnoseFfmpeg(
  { decodeTools: { ffmpegPath } }: Installation,
  signal: AbortSignal,
): Promise<Diagnostic> {
  try {
    const { stdout } = await run(ffmpegPath, ['-version'], { signal });
    return ok('ffmpeg', `${ffmpegPath}, version ${/version (\S+)/.exec(stdout)?.[1] ?? 'unknown'}.`);
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return problem(
      'ffmpeg',
      `${ffmpegPath} does not run (${why}).`,
      'Install it again: apt-get install --reinstall ffmpeg',
    );
  }
}

function diagnoseMkfifo(): Diagnostic {
  const path = findPrograms(['mkfifo']).get('mkfifo');
  if (path !== undefined) return ok('mkfifo', `${path}.`);
  return problem('mkfifo', 'The program is missing.', 'On Debian or Ubuntu: apt-get install coreutils');
}

function diagnosePrlimit({ decodeTools: { prlimitPath } }: Installation): Diagnostic {
  if (prlimitPath !== undefined) return ok('prlimit', `${prlimitPath}.`);
  return warning(
    'prlimit',
    'The program is missing, so the memory of decoders is not limited.',
    'On Debian or Ubuntu: apt-get install util-linux',
  );
}
