/** Worker thread of flite: takes a piece of text, returns its samples. Each thread compiles flite for itself. */
import { serveTasks } from '../../../threads/serve-tasks.ts';
import { compileFlite, FliteProgram } from './program.ts';
import { type SpokenPiece, synthesizePiece } from './synthesis.ts';

let flite: FliteProgram | undefined;

serveTasks({
  run: async (piece: SpokenPiece) => {
    flite ??= new FliteProgram(await compileFlite());
    return synthesizePiece(flite, piece);
  },
  transfer: (samples) => [samples.buffer],
});
