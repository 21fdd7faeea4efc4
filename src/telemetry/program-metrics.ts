import { Counter, type Registry } from 'prom-client';
import type { ProgramState } from '../core/entities/server.ts';
import { metricsIn } from './request-metrics.ts';

interface ProgramEngine {
  readonly engine: string;
  readonly program?: ProgramState;
}

/** Metrics of the programs that Parley starts. An engine of another kind has none. */
export function observePrograms(registry: Registry, engines: () => readonly ProgramEngine[]): void {
  const { gauge } = metricsIn(registry);
  const programs = () =>
    engines().flatMap(({ engine, program }) => (program === undefined ? [] : [{ engine, ...program }]));
  gauge('parley_program_state', 'Always 1, with the state of a program.', ['engine', 'state'], (states) => {
    states.reset();
    for (const { engine, state } of programs()) states.set({ engine, state }, 1);
  });
  gauge('parley_program_memory_bytes', 'Memory of a program as last measured.', ['engine'], (memory) => {
    memory.reset();
    for (const { engine, memoryBytes } of programs()) memory.set({ engine }, memoryBytes);
  });
  new Counter({
    name: 'parley_program_starts_total',
    help: 'Starts of a program.',
    labelNames: ['engine'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { engine, starts } of programs()) this.inc({ engine }, starts);
    },
  });
}
