import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { spanText } from '../format.tsx';

/** Why a key no longer works; undefined if it does. */
export function endOf({ revokedAt, expiresAt }: Key): string | undefined {
  if (revokedAt !== undefined) return `revoked ${spanText(timestampDate(revokedAt))}`;
  const isPast = expiresAt !== undefined && timestampDate(expiresAt).getTime() <= Date.now();
  return isPast ? 'expired' : undefined;
}

export function lifeOf(key: Key): string {
  const { expiresAt } = key;
  const end =
    endOf(key) ?? (expiresAt === undefined ? 'live' : `expires ${spanText(timestampDate(expiresAt))}`);
  return key.invitation ? `invitation, ${end}` : end;
}
