/** A supervisor of tiny servers, without a Parley around it. */
import { request } from 'node:http';
import { OwnSignal, type Signal } from '../../src/core/values/signal.ts';
import type { Program, ProgramSettings } from '../../src/supervisor/program.ts';
import { Supervisor } from '../../src/supervisor/supervisor.ts';
import { scratchFolder } from './command-line.ts';
import { type TinyOptions, tinyCommand } from './tiny-program.ts';

export interface Logged {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export class TestPrograms {
  readonly #folder = scratchFolder();
  readonly #programs: Program[] = [];
  readonly #supervisor: Supervisor;
  readonly socketDir: string;
  readonly logged: Logged[] = [];

  constructor({ memoryBytesMax = 10e9, memoryWaitMs = 60_000, sockets = 'sockets' } = {}) {
    this.socketDir = this.#folder.file(sockets);
    const note = (level: Logged['level']) => (fields: object, message: string) => {
      this.logged.push({ level, fields: { ...fields }, message });
    };
    this.#supervisor = new Supervisor({
      log: { info: note('info'), warn: note('warn'), error: note('error') },
      memoryBytesMax,
      memoryWaitMs,
      socketDir: this.socketDir,
      environment: { PATH: process.env['PATH'] ?? '' },
    });
  }

  open(name: string, options: TinyOptions = {}, settings: Partial<ProgramSettings> = {}): Program {
    const program = this.#supervisor.open(name, {
      command: tinyCommand(options),
      env: {},
      healthPath: '/health',
      startMs: 120_000,
      idleMs: 0,
      stopMs: 60_000,
      memoryBytes: 60_000_000,
      ...settings,
    });
    this.#programs.push(program);
    return program;
  }

  async close(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop('the test has ended')));
    this.#folder.remove();
  }
}

/** A chat under a lease, as an engine makes it. Rejects if the answer is cut. */
export async function ask(
  program: Program,
  body: object = {},
  signal: Signal = new OwnSignal(),
): Promise<string> {
  const lease = await program.acquire(signal);
  let hasAnswered = false;
  try {
    const text = await post(program, body);
    hasAnswered = true;
    return text;
  } finally {
    lease.release(hasAnswered);
  }
}

function post({ socketPath, port }: Program, body: object): Promise<string> {
  const place = socketPath === undefined ? { host: '127.0.0.1', port } : { socketPath };
  return new Promise((resolve, reject) => {
    const options = { ...place, path: '/v1/chat/completions', method: 'POST', agent: false };
    const sent = request(options, async (response) => {
      const pieces: Buffer[] = [];
      response.on('error', reject).on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve(Buffer.concat(pieces).toString()));
    });
    sent.on('error', reject).end(JSON.stringify(body));
  });
}
