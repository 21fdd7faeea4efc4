import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { hasMoonshine, missingHearing, readMoonshine } from '../../media/hearing-files.ts';
import { hearingModule } from '../../media/wasm-instance.ts';
import { type Diagnosis, voicesDiagnostic } from '../diagnostics.ts';
import { compileFlite, FliteProgram } from './flite/program.ts';
import { fliteVoices } from './flite/voices.ts';

/** Checks the modules of the models: flite for speech, the decoder and the recogniser for transcription. */
export async function diagnoseBuiltin({ models }: Diagnosis): Promise<Diagnostic[]> {
  const ofType = (wanted: string) => models.filter(({ type }) => type === wanted);
  const speech = ofType('speech');
  const ids = fliteVoices.map(({ id }) => id);
  const loaded = await Promise.all([
    ...(speech.length === 0
      ? []
      : [loads('flite', loadFlite(), 'Install the dependencies of Parley again.')]),
    ...(ofType('transcription').length === 0 ? [] : [diagnoseHearing()]),
  ]);
  const chats = ofType('chat').map(({ id }) => ok(`model ${id}`, 'It is part of the program.'));
  return [...loaded, ...speech.map((model) => voicesDiagnostic(model, ids)), ...chats];
}

/** @param found if nothing is wrong */
function loads(subject: string, found: Promise<string>, advice: string): Promise<Diagnostic> {
  const failed = (error: unknown) => problem(subject, `It does not load (${String(error)}).`, advice);
  return found.then((text) => ok(subject, text), failed);
}

async function loadFlite(): Promise<string> {
  new FliteProgram(await compileFlite()).run(['-lv']);
  return 'It loads.';
}

async function diagnoseHearing(): Promise<Diagnostic> {
  const missing = missingHearing();
  if (missing !== undefined) return problem('hearing', missing, 'Run `parley doctor` again after the build.');
  return loads('hearing', loadHearing(), 'Build it again: npm run build');
}

async function loadHearing(): Promise<string> {
  const isMoonshine = hasMoonshine();
  await hearingModule('decoder');
  if (isMoonshine) await WebAssembly.compile(await readMoonshine('ort.wasm'));
  else await hearingModule('recogniser');
  return `The decoder and the recogniser load: ${isMoonshine ? 'Moonshine' : 'pocketsphinx'}.`;
}
