import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { attemptText, limitText } from '../../../src/core/billing/record-words.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { exactCredits } from '../credits.ts';
import { Dialog } from '../dialog.tsx';
import { durationText, type Fact, Facts, Time, wholeText } from '../format.tsx';
import type { NamesById } from './names.ts';
import { State } from './record-state.tsx';

interface Props {
  readonly record: UsageRecord;
  readonly names: NamesById;
  readonly onClose: () => void;
}

const given = <T,>(value: T | undefined, textOf: (value: T) => string) =>
  value === undefined ? undefined : textOf(value);

/** All known facts of one request. */
export function RecordDialog({ record, names, onClose }: Props) {
  const facts: Fact[] = [
    ['Request id', <IdText key="id" id={record.id} />],
    ['State', <State key="state" record={record} />],
    ['Code', record.code && <CodeLink key="code" code={record.code} />],
    ['HTTP status', record.httpStatus],
    ['Limit that refused', record.limit && limitText(record.limit, exactCredits)],
    ['Engine', record.engine],
    ...record.attempts.map((attempt, at): Fact => [`Attempt ${at + 1}`, attemptText(attempt, durationText)]),
    ['Started', <Time key="time" at={record.startedAt} />],
    ['Account', names.get(record.accountId) ?? record.accountId],
    ['Key', names.get(record.keyId) ?? record.keyId],
    ['End user', record.endUser],
    ['Tags', record.tags.join(', ') || undefined],
    ['Operation', record.operation],
    ['Model', record.model],
    ['Wire', record.wire],
    ['First output after', given(record.firstOutputMs, durationText)],
    ['Took', given(record.durationMs, durationText)],
    ['Audio received', given(record.audioSecondsIn, (seconds) => `${seconds} s`)],
    ['Audio produced', given(record.audioSecondsOut, (seconds) => `${seconds} s`)],
    ['Characters', record.characters],
    ['Prompt tokens', record.promptTokens],
    ['Of these, read from the cache', record.cachedTokens],
    ['Of these, written to the cache', record.cacheWriteTokens],
    ['Completion tokens', record.completionTokens],
    ['Tokens', record.tokensSource],
    ['Fair-use units', given(record.fairUseUnits, wholeText)],
    ['Units given back', given(record.returnedUnits, wholeText)],
    ['Credits held', given(record.reservedNanoCredits, exactCredits)],
    ['Credits', given(record.costNanoCredits, exactCredits)],
    ['Not covered', given(record.overrunNanoCredits, exactCredits)],
  ];
  return (
    <Dialog title="Request" onClose={onClose}>
      <Facts of={facts} />
    </Dialog>
  );
}

/** A link to the meaning of the code, and one to all requests that ended with it. */
function CodeLink({ code }: { readonly code: string }) {
  const meaning = code === 'deadline_exceeded' ? '/docs/guides/money' : `/docs/guides/errors#${code}`;
  return (
    <>
      <a href={meaning} target="_self">
        {code}
      </a>{' '}
      <a href={`/console/usage?code=${code}`}>All requests with this code</a>
    </>
  );
}

function IdText({ id }: { readonly id: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} />
    </>
  );
}
