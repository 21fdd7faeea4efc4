import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { moonshineFolder } from '../../../media/hearing-files.ts';
import type { Runtime } from './runtime.ts';

/** Loads onnxruntime-web. The executable contains it, and replaces this file. */
export function loadRuntime(): Promise<Runtime> {
  return import(pathToFileURL(join(moonshineFolder, 'ort.mjs')).href);
}
