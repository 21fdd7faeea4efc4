/** Types for the parts of WebAssembly in use. TypeScript declares them only in its library for browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    static imports(module: Module): { module: string; name: string }[];
  }
  class Memory {
    constructor(size: { initial: number });
    readonly buffer: ArrayBuffer;
    /** Adds pages of 64 KB. Throws a RangeError beyond the maximum. */
    grow(pages: number): number;
  }
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  /** Compiles on other threads. Rejects if the bytes are not a module. */
  function compile(bytes: Uint8Array): Promise<Module>;
}
