/** Replaces the file that loads onnxruntime-web: the executable has it as a bundle like its own. */
import { Script } from 'node:vm';
import type { Runtime } from '../../../src/engines/builtin/moonshine/runtime-file.ts';
import { readMoonshine } from '../../../src/media/hearing-files.ts';

export async function loadRuntime(): Promise<Runtime> {
  const source = Buffer.from(await readMoonshine('ort.mjs')).toString('utf8');
  const module = { exports: {} };
  new Script(source, { filename: 'parley:onnxruntime-web.js' }).runInThisContext()(
    (id: string) => process.getBuiltinModule(id),
    module,
  );
  return module.exports as Runtime;
}
