import type { Catalog } from '../catalog/catalog.ts';
import type { TranscriptionModel } from '../entities/model.ts';
import { ParleyError } from '../values/errors.ts';

/** The model that serves every transcription. @throws `engine_unavailable` */
export function activeModel(catalog: Catalog): TranscriptionModel {
  const model = catalog.transcriptionModel();
  if (model === undefined) {
    throw new ParleyError('engine_unavailable', {
      message: 'This server has no transcription model. Its operator can add one in parley.yaml.',
    });
  }
  const availability = model.engine.availability();
  if (!availability.available) {
    throw new ParleyError('engine_unavailable', { message: availability.reason });
  }
  return model;
}
