import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { attemptText, limitText } from '../../../src/core/billing/record-words.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { exactCredits } from '../credits.ts';
import { Dialog } from '../dialog.tsx';
import { durationText, Time, wholeText } from '../format.tsx';
import type { NamesById } from './names.ts';
import { State } from './record-state.tsx';

interface Props {
  readonly record: UsageRecord;
  readonly names: NamesById;
  readonly onClose: () => void;
}

/** All known facts of one request. */
export function RecordDialog({ record, names, onClose }: Props) {
  const facts: [string, unknown][] = [
    ['Request id', <IdText key="id" id={record.id} />],
    ['State', <State key="state" record={record} />],
    ['Code', record.code === undefined ? undefined : <CodeLink key="code" code={record.code} />],
    ['HTTP status', record.httpStatus],
    ['Limit that refused', record.limit && limitText(record.limit, exactCredits)],
    ['Engine', record.engine],
    ...record.attempts.map((attempt, at): [string, unknown] => [
      `Attempt ${at + 1}`,
      attemptText(attempt, durationText),
    ]),
    ['Started', <Time key="time" at={record.startedAt} />],
    ['Account', names.get(record.accountId) ?? record.accountId],
    ['Key', names.get(record.keyId) ?? record.keyId],
    ['End user', record.endUser],
    ['Tags', record.tags.join(', ') || undefined],
    ['Operation', record.operation],
    ['Model', record.model],
    ['Wire', record.wire],
    [
      'First output after',
      record.firstOutputMs === undefined ? undefined : durationText(record.firstOutputMs),
    ],
    ['Took', record.durationMs === undefined ? undefined : durationText(record.durationMs)],
    ['Audio received', record.audioSecondsIn === undefined ? undefined : `${record.audioSecondsIn} s`],
    ['Audio produced', record.audioSecondsOut === undefined ? undefined : `${record.audioSecondsOut} s`],
    ['Characters', record.characters],
    ['Prompt tokens', record.promptTokens],
    ['Of these, read from the cache', record.cachedTokens],
    ['Of these, written to the cache', record.cacheWriteTokens],
    ['Completion tokens', record.completionTokens],
    ['Tokens', record.tokensSource],
    ['Fair-use units', record.fairUseUnits === undefined ? undefined : wholeText(record.fairUseUnits)],
    ['Units given back', record.returnedUnits === undefined ? undefined : wholeText(record.returnedUnits)],
    [
      'Credits held',
      record.reservedNanoCredits === undefined ? undefined : exactCredits(record.reservedNanoCredits),
    ],
    ['Credits', record.costNanoCredits === undefined ? undefined : exactCredits(record.costNanoCredits)],
    [
      'Not covered',
      record.overrunNanoCredits === undefined ? undefined : exactCredits(record.overrunNanoCredits),
    ],
  ];
  return (
    <Dialog title="Request" onClose={onClose}>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value as string}</dd>
            </div>
          ))}
      </dl>
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
