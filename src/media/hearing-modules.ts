import { readModule } from './hearing-files.ts';

type ModuleName = 'decoder' | 'recogniser';

const compiled = new Map<ModuleName, Promise<WebAssembly.Module>>();

/**
 * The module of the recogniser or decoder, compiled at its first use. Threads get it by message and share its code.
 * Rejects while its file is missing; a later call tries again.
 */
export function hearingModule(name: ModuleName): Promise<WebAssembly.Module> {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const compiling = readModule(name).then((bytes) => WebAssembly.compile(bytes));
  compiled.set(name, compiling);
  compiling.catch(() => compiled.delete(name));
  return compiling;
}
