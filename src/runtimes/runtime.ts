/** A runtime is a program for this machine that runs models from files. `kind: local` starts it for each model. */

import type { Runtime as RuntimeName } from '../models/manifest.ts';
import type { LocalModel } from '../models/model-store.ts';

/** The part of the configuration that concerns the command of a program. */
export interface RuntimeOptions {
  /** Tokens of prompt and answer together, for each call. */
  readonly contextTokens: number;
  readonly callsMax: number;
  readonly threads: number;
  readonly promptCache: boolean;
  readonly arguments: readonly string[];
}

/** The places in which a runtime may be. */
export interface RuntimePlaces {
  /** The folder of installed runtimes, each in a folder of its name. */
  readonly folder: string;
  /** In the form of PATH. */
  readonly path: string;
  /** The configured path of llama-server. */
  readonly llamaServer?: string | undefined;
}

/** A file that is downloaded and unpacked. */
export interface Archive {
  /** An https URL, or the path of a file. */
  readonly from: string;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
  /** Where to unpack it, in the folder of the runtime. Default: the folder itself. */
  readonly into?: string;
}

export interface Runtime {
  readonly name: RuntimeName;
  /** The name of its program or of its library, for messages. */
  readonly program: string;
  /** The models that it runs, in a few words. */
  readonly runs: string;
  readonly licence: string;
  /** Set if a licence is not permissive. The operator accepts it before anything is installed. */
  readonly notice?: string;
  /** Archives that this Parley knows for this machine. If empty, the operator names one. */
  readonly archives: readonly Archive[];
  /** How to get it, in a sentence. */
  readonly advice: string;
  /** Its program or its folder; undefined if it is not installed. */
  find(places: RuntimePlaces): string | undefined;
  /** @returns arguments with which what `find` has found shows its version and ends, if it can */
  versionArguments(found: string): readonly string[] | undefined;
  /** @param found the result of `find` */
  settings(found: string, model: LocalModel, options: RuntimeOptions): RuntimeProgram;
}

/** The settings of an engine of the kind `process` that come from the runtime and the model. */
export interface RuntimeProgram {
  /** With `{socket}`. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  /** Members of every chat request: `set` in place of those of the client, `defaults` where it sends none. Default: none. */
  readonly parameters?: {
    readonly set: Readonly<Record<string, boolean>>;
    readonly defaults: Readonly<Record<string, number | undefined>>;
  };
  /** Default: verbose_json. */
  readonly transcriptionFormat?: 'verbose_json' | 'json';
}
