import type { JsonObject } from '@bufbuild/protobuf';
import type { Call } from '../../core/call.ts';

/** Notes the model that a body asks for, so that the record tells it also where the body is refused. */
export function noteAskedModel({ model }: JsonObject, { metering }: Call): void {
  if (typeof model === 'string' && model !== '') metering.note({ model });
}
