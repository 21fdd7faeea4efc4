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
  const [flite, hearing] = await Promise.all([
    speech.length === 0 ? [] : diagnoseFlite(),
    ofType('transcription').length === 0 ? [] : diagnoseHearing(),
  ]);
  const chats = ofType('chat').map(({ id }) => ok(`model ${id}`, 'It is part of the program.'));
  return [...flite, ...speech.map((model) => voicesDiagnostic(model, ids)), ...hearing, ...chats];
}

async function diagnoseFlite(): Promise<Diagnostic[]> {
  try {
    new FliteProgram(await compileFlite()).run(['-lv']);
    return [ok('flite', 'It loads.')];
  } catch (error) {
    const advice = 'Install the dependencies of Parley again.';
    return [problem('flite', `It does not load (${String(error)}).`, advice)];
  }
}

async function diagnoseHearing(): Promise<Diagnostic[]> {
  const missing = missingHearing();
  if (missing !== undefined)
    return [problem('hearing', missing, 'Run `parley doctor` again after the build.')];
  try {
    const isMoonshine = hasMoonshine();
    await Promise.all([
      hearingModule('decoder'),
      isMoonshine ? compileRuntime() : hearingModule('recogniser'),
    ]);
    const recogniser = isMoonshine ? 'Moonshine' : 'pocketsphinx';
    return [ok('hearing', `The decoder and the recogniser load: ${recogniser}.`)];
  } catch (error) {
    return [problem('hearing', `It does not load (${String(error)}).`, 'Build it again: npm run build')];
  }
}

async function compileRuntime(): Promise<void> {
  await WebAssembly.compile(await readMoonshine('ort.wasm'));
}
