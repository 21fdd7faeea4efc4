/** As much of WebAssembly as is used here: Node has it, but its types are in TypeScript's library for browsers only. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Memory {
    constructor(size: { initial: number });
    readonly buffer: ArrayBuffer;
  }
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  /** Compiles off the calling thread. Rejects where the bytes are no module. */
  function compile(bytes: Uint8Array): Promise<Module>;
}
