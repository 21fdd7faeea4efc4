import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { LimitCount, Limits } from '../../../gen/parley/account/v1/limits_pb.ts';
import { type Fact, Facts, spanText } from '../format.tsx';
import { Bar } from '../meters.tsx';
import { countText, countTitle, fixedLimits, usedShare } from './limit-names.ts';

/** Above this share a limit counts as nearly used up. */
export const nearShare = 0.8;

/** A key or an account. */
export interface LimitOwner {
  readonly limits?: Limits | undefined;
  readonly limitCounts: readonly LimitCount[];
}

/** A limit with its used amount. */
export function LimitMeter({ count }: { readonly count: LimitCount }) {
  const share = usedShare(count);
  return <Bar label={countText(count)} share={share} isLow={share >= nearShare} />;
}

/** The limits, with the used amount of those that last. */
export function LimitFacts({ owner: { limits, limitCounts } }: { readonly owner: LimitOwner }) {
  const used = limitCounts.map(
    (count): Fact => [
      countTitle(count),
      <div key="used">
        <LimitMeter count={count} />
        {count.resetsAt && (
          <small class="quiet">starts again {spanText(timestampDate(count.resetsAt))}</small>
        )}
      </div>,
    ],
  );
  return <Facts of={[...used, ...(limits ? fixedLimits(limits) : [])]} />;
}

/** Renders nothing if there are no limits. */
export function LimitsCard({ title, owner }: { readonly title: string; readonly owner: LimitOwner }) {
  if (owner.limits === undefined) return null;
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <LimitFacts owner={owner} />
    </section>
  );
}
