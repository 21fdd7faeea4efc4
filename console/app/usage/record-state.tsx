import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';

export function State({ record: { state, code } }: { readonly record: Pick<UsageRecord, 'state' | 'code'> }) {
  return (
    <span class={`badge ${state}`} title={code}>
      {state}
      {code !== undefined && ` · ${code}`}
    </span>
  );
}
