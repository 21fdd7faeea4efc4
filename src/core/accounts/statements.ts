/** Statements: the credits of an account in a month. */
import type * as ownPb from '../../../gen/parley/account/v1/account_pb.ts';
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { accountToRead } from '../access/account-of-call.ts';
import type { AnyCall } from '../access/call.ts';
import { nextMonthMs } from '../entities/count.ts';
import type { StatementPeriod } from '../entities/ledger.ts';
import { bounds, matches } from '../values/bounds.ts';
import { formatCredits } from '../values/money.ts';
import { invalid } from '../values/parameters.ts';
import { present } from '../values/present.ts';
import type { AccountsDeps } from './deps.ts';

export function statementFunctions(deps: AccountsDeps) {
  return {
    async getStatement(request: pb.GetStatementRequest | ownPb.GetStatementRequest, call: AnyCall) {
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
