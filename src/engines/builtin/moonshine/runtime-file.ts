import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { moonshineFolder } from '../../../media/hearing-files.ts';

/** The parts of onnxruntime-web in use. */

type Data = Float32Array | BigInt64Array | Uint8Array;

export interface Tensor {
  readonly data: Data;
}

export type Tensors = Readonly<Record<string, Tensor>>;

export interface ModelSession {
  readonly inputNames: readonly string[];
  /** Runs the model. Returns the tensors that `outputs` names. */
  run(inputs: Tensors, outputs?: readonly string[]): Promise<Tensors>;
}

export interface Runtime {
  readonly env: { readonly wasm: { numThreads?: number; wasmBinary?: Uint8Array | undefined } };
  readonly Tensor: new (type: 'float32' | 'int64' | 'bool', data: Data, shape: readonly number[]) => Tensor;
  readonly InferenceSession: { create(bytes: Uint8Array, options: object): Promise<ModelSession> };
}

/** Loads onnxruntime-web. The executable contains it, and replaces this file. */
export function loadRuntime(): Promise<Runtime> {
  return import(pathToFileURL(join(moonshineFolder, 'ort.mjs')).href);
}
