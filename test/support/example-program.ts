/** Starts an example program that serves pages, and reads its address from what it prints. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface ExampleProgram {
  /** Address such as `http://127.0.0.1:40123`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** @param program its path in the repository. @throws Error with what the program writes if it does not start */
export async function startExample(
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<ExampleProgram> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    cwd: new URL('../..', import.meta.url),
    env: { PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  const complaints = text(child.stderr);
  const printed = await Promise.race([once(child.stdout, 'data'), exit.then(() => undefined)]);
  const origin = /http:\S+/.exec(String(printed))?.[0];
  if (origin === undefined) throw new Error(`${program} did not start: ${await complaints}`);
  return {
    origin,
    close: async () => {
      child.kill();
      await exit;
    },
  };
}
