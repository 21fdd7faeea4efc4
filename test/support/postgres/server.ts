/** A PostgreSQL of the tests in a temporary folder, independent of the services of the system. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** PostgreSQL refuses to run as root. */
const userInstead = 'nobody';

interface PostgresOptions {
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called with the folder of the data while that is empty. */
  readonly prepare?: (dataFolder: string) => void;
  /** Further arguments of initdb. */
  readonly initdb?: (dataFolder: string) => readonly string[];
}

export class PostgresServer {
  readonly folder: string;
  readonly #programs: string;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #asOther: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(programs: string, { settings = {}, prepare }: PostgresOptions) {
    this.#programs = programs;
    this.folder = mkdtempSync(join(tmpdir(), 'parley-postgres-'));
    this.#settings = settings;
    mkdirSync(this.data, { mode: 0o700 });
    prepare?.(this.data);
    this.#asOther = otherUser(this.folder, this.data);
  }

  /** Starts the server, without waiting until it accepts connections. @param programs the folder of PostgreSQL's programs */
  static async create(programs: string, options: PostgresOptions = {}): Promise<PostgresServer> {
    const server = new PostgresServer(programs, options);
    const names = ['-D', server.data, '-U', 'parley', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'];
    await server.#runToEnd('initdb', [...names, '--no-sync', ...(options.initdb?.(server.data) ?? [])]);
    server.start();
    return server;
  }

  /** A standby that streams from this server. */
  async standby(): Promise<PostgresServer> {
    const standby = new PostgresServer(this.#programs, { settings: this.#settings });
    const from = [
      '-h',
      this.folder,
      '-U',
      'parley',
      '--checkpoint=fast',
      '--write-recovery-conf',
      '--no-sync',
    ];
    await standby.#runToEnd('pg_basebackup', ['-D', standby.data, ...from]);
    standby.start();
    return standby;
  }

  /** The folder of its data. */
  get data(): string {
    return join(this.folder, 'data');
  }

  /** The main process. Its children serve the connections. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  isRunning(): boolean {
    return (
      this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
    );
  }

  /** The folder of its socket. */
  get socket(): string {
    return join(this.folder, '.s.PGSQL.5432');
  }

  get url(): string {
    return `postgres://parley@/postgres?host=${encodeURIComponent(this.folder)}`;
  }

  start(): void {
    const settings = {
      listen_addresses: '',
      unix_socket_directories: this.folder,
      max_connections: '300',
      ...this.#settings,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const quietly = ['-c', 'log_min_messages=panic'];
    this.#process = this.#run([join(this.#programs, 'postgres'), '-D', this.data, ...options, ...quietly]);
  }

  /** @param signal SIGINT ends its connections; SIGQUIT ends it as a power failure would. Default: SIGINT */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const server = this.#process;
    if (server === undefined || !this.isRunning()) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #runToEnd(program: string, args: readonly string[]): Promise<void> {
    const [code] = await once(this.#run([join(this.#programs, program), ...args]), 'exit');
    if (code !== 0) throw new Error(`${program} ended with ${code}`);
  }

  #run(command: readonly string[]): ChildProcess {
    const [program = '', ...args] = [...this.#asOther, ...command];
    // If a person interrupts the tests, the set-up stops the server.
    return spawn(program, args, { cwd: this.folder, stdio: ['ignore', 'ignore', 'inherit'], detached: true });
  }
}

/** The first words of commands that run as another user than root. The server ends with the tests, even if they are killed. */
function otherUser(...folders: readonly string[]): string[] {
  const withParent = ['setpriv', '--pdeathsig', 'INT'];
  if (process.getuid?.() !== 0) return withParent;
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, userInstead], { encoding: 'utf8' }).stdout),
  );
  for (const folder of folders) {
    chownSync(folder, uid, gid);
    chmodSync(folder, 0o700);
  }
  return [...withParent, `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
}
