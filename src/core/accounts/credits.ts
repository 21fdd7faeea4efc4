/** Loads and adjustments of credits by administrators, and the ledger. */
import type {
  GetStatementRequest,
  ListLedgerEntriesRequest,
} from '../../../gen/parley/account/v1/account_pb.ts';
import type { AdjustCreditsRequest, LoadCreditsRequest } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { accountToChange, accountToRead, audit } from '../access/account-of-call.ts';
import type { AdminCall, AnyCall } from '../access/call.ts';
import { nextMonthMs } from '../entities/count.ts';
import type { LedgerEntry, StatementPeriod } from '../entities/ledger.ts';
import { bounds, matches } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { newLedgerEntryId } from '../values/ids.ts';
import { present } from '../values/json.ts';
import { formatCredits } from '../values/money.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import { checkAmount, checkText, tooMuchTaken } from './checks.ts';
import type { AccountsDeps } from './deps.ts';
import { accountNow, describeEntry } from './views.ts';

export function creditFunctions(deps: AccountsDeps) {
  return {
    loadCredits: (request: LoadCreditsRequest, call: AdminCall) => enter(deps, 'load', request, call),

    adjustCredits: (request: AdjustCreditsRequest, call: AdminCall) =>
      enter(deps, 'adjustment', request, call),

    async listLedgerEntries(request: ListLedgerEntriesRequest, call: AnyCall) {
      const { id } = await accountToRead(deps, request, call);
      const page = await deps.store.ledger.list(id, readPage(request));
      return { entries: page.items.map(describeEntry), ...nextPage(page) };
    },
  };
}

/** @throws `invalid_parameter`, `idempotency_conflict`, `insufficient_credits` */
async function enter(
  deps: AccountsDeps,
  kind: 'load' | 'adjustment',
  request: LoadCreditsRequest | AdjustCreditsRequest,
  call: AdminCall,
) {
  const { account } = await accountToChange(deps, request, call);
  const amount = checkAmount(request.amount);
  if (kind === 'load' && amount <= 0n) throw invalid('amount', '`amount` must be above zero.');
  if (amount === 0n) throw invalid('amount', '`amount` must not be zero.');
  const createdAtMs = deps.accessClock.now();
  const entry: LedgerEntry = {
    id: newLedgerEntryId(createdAtMs),
    accountId: account.id,
    kind,
    amount,
    reason: checkText('reason', request.reason, bounds.reason),
    reference: checkText('idempotency_key', request.idempotencyKey, bounds.reason),
    createdAtMs,
  };
  const details = { amount: String(request.amount), reason: entry.reason, reference: entry.reference };
  const outcome = await deps.store.ledger.enter(
    entry,
    audit(deps, call, `credits.${kind}`, account.id, details),
  );
  if (outcome === 'conflict') throw new ParleyError('idempotency_conflict', { param: 'idempotency_key' });
  if (outcome === 'insufficient_credits') {
    throw tooMuchTaken((await deps.store.accounts.find(account.id)) ?? account);
  }
  if (outcome === 'balance_too_large') {
    throw invalid('amount', 'The balance would be larger than an account can hold. Load less.');
  }
  return accountNow(deps, account.id);
}

export function statementFunctions(deps: AccountsDeps) {
  return {
    async getStatement(request: GetStatementRequest, call: AnyCall) {
      const { id, name } = await accountToRead(deps, request, call);
      const nowMs = deps.accessClock.now();
      const period = readMonth(request.month, nowMs);
      const { opening, closing, lines } = await deps.store.ledger.statement(id, period);
      const statement = {
        accountId: id,
        accountName: name,
        month: request.month,
        isFinal: period.untilMs <= nowMs,
        openingNanoCredits: opening,
        opening: formatCredits(opening),
        closingNanoCredits: closing,
        closing: formatCredits(closing),
        lines: lines.map(({ amount, ...line }) => ({
          ...present(line),
          amountNanoCredits: amount,
          amount: formatCredits(amount),
        })),
      };
      return { statement };
    },
  };
}

/** @throws `invalid_parameter` */
function readMonth(month: string, nowMs: number): StatementPeriod {
  if (!matches(month, bounds.month)) {
    throw invalid('month', '`month` must be a month, such as 2026-11.');
  }
  const fromMs = Date.parse(`${month}-01T00:00:00Z`);
  if (fromMs > nowMs) throw invalid('month', '`month` must not be in the future.');
  return { fromMs, untilMs: nextMonthMs(fromMs) };
}
