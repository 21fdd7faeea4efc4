/** A thread of flite: a task is a piece of text, its result the samples. Each thread compiles flite for itself. */
import { serveTasks } from '../../../threads/serve-tasks.ts';
import { compileFlite } from './module.ts';
import { FliteProgram } from './program.ts';
import { type SpokenPiece, synthesizePiece } from './synthesis.ts';

let flite: FliteProgram | undefined;

serveTasks({
  run: async (piece: SpokenPiece) => {
    flite ??= new FliteProgram(await compileFlite());
    return synthesizePiece(flite, piece);
  },
  transfer: (samples) => [samples.buffer],
});
