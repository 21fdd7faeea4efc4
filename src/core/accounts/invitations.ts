/** Invitations, which administrators make for holders of accounts and for operators. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  CreateInvitationRequest,
  CreateInvitationResponseSchema,
} from '../../../gen/parley/admin/v1/admin_pb.ts';
import { accountToChange } from '../access/account-of-call.ts';
import type { AdminCall } from '../access/call.ts';
import type { NewKey } from '../access/new-key.ts';
import { isSafeUrl } from '../entities/identity-provider.ts';
import { invitation } from '../entities/key.ts';
import { isMailAddress } from '../values/bounds.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid } from '../values/parameters.ts';
import { checkFuture, checkText, required } from './checks.ts';
import type { AccountsDeps } from './deps.ts';
import { adminScopesWithin, refuseWiderAdminKey, scopesWithin } from './key-powers.ts';
import { issue } from './keys.ts';

const dayMs = 86_400_000;
const lifeMs = 7 * dayMs;
const lifeMsMax = 30 * dayMs;
/** Counts the mails to operators, who have no account. */
const operators = 'operators' as AccountId;

export function invitationFunctions(deps: AccountsDeps) {
  return {
    async createInvitation(
      request: CreateInvitationRequest,
      call: AdminCall,
    ): Promise<MessageInitShape<typeof CreateInvitationResponseSchema>> {
      const { consoleUrl, mailAddress } = request;
      const name = checkText('name', request.name);
      const granted = await grantedBy(deps, request, call);
      const expiresAtMs = checkEnd(request, deps.accessClock.now());
      const origin = checkOrigin(consoleUrl);
      checkMail(deps, mailAddress);
      const facts = { ...granted, name, scopes: [...granted.scopes, invitation], expiresAtMs } as const;
      const { key, secret } = await issue(deps, call, { ...facts, limits: undefined });
      const url = `${origin}/console/invitation#${secret}`;
      const mailFailure = await mailLink(deps, request, { ...facts, id: key.id, url, origin });
      return { key, url, ...(mailFailure !== undefined && { mailFailure }) };
    },
  };
}

/** @throws `not_found`, `invalid_parameter`, `insufficient_scope` for an operator with more rights than the caller */
async function grantedBy(
  deps: AccountsDeps,
  request: CreateInvitationRequest,
  call: AdminCall,
): Promise<Pick<NewKey, 'kind' | 'accountId' | 'scopes'>> {
  const { accountId } = request;
  if (accountId !== undefined) {
    const { account } = await accountToChange(deps, request, call);
    return { kind: 'account', accountId: account.id, scopes: scopesWithin(request.scopes, undefined) };
  }
  const scopes = adminScopesWithin(request.scopes, call.scopedKey);
  refuseWiderAdminKey({ scopes, expiresAtMs: undefined }, call.scopedKey);
  return { kind: 'admin', accountId, scopes };
}

function checkEnd({ expiresAt }: CreateInvitationRequest, nowMs: number): number {
  const endMs = checkFuture('expires_at', expiresAt, nowMs) ?? nowMs + lifeMs;
  if (endMs <= nowMs + lifeMsMax) return endMs;
  throw invalid('expires_at', 'An invitation ends at most 30 days from now.');
}

function checkOrigin(text: string | undefined): string {
  const url = required('console_url', text);
  if (isSafeUrl(url)) return new URL(url).origin;
  throw invalid('console_url', '`console_url` is the origin of the console, with HTTPS or on this machine.');
}

function checkMail({ mail }: AccountsDeps, address: string | undefined): void {
  if (address === undefined) return;
  if (!isMailAddress(address)) throw invalid('mail_address', '`mail_address` is not an address.');
  if (mail !== undefined) return;
  const message = 'This server sends no mail: set `alerts.smtp`, or send the link yourself.';
  throw invalid('mail_address', message);
}

interface Link {
  readonly id: string;
  readonly name: string;
  readonly accountId: AccountId | undefined;
  readonly expiresAtMs: number;
  readonly url: string;
  readonly origin: string;
}

/** Returns why the mail was not sent. */
async function mailLink(
  { mail }: AccountsDeps,
  { mailAddress }: CreateInvitationRequest,
  { id, name, accountId = operators, expiresAtMs, url, origin }: Link,
): Promise<string | undefined> {
  if (mail === undefined || mailAddress === undefined) return undefined;
  const end = new Date(expiresAtMs).toISOString().slice(0, 16).replace('T', ' ');
  const text = [
    `Hello ${name},`,
    `you are invited to the console of Parley at ${origin}. This link makes your key and signs you in. It works once, until ${end} UTC:`,
    url,
    'If you do not expect this invitation, ignore it.',
  ].join('\n\n');
  const outcome = await mail.send({
    accountId,
    to: [mailAddress],
    subject: 'Your invitation to Parley',
    text,
    id,
  });
  return outcome === 'accepted' ? undefined : outcome.failure;
}
