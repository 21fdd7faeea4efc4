/** The pages of holders and of operators, by their paths below `/console`. */
import type { ComponentChildren } from 'preact';
import { AlertsPage } from './holder/alerts-page.tsx';
import { CreditsPage } from './holder/credits-page.tsx';
import { HomePage } from './holder/home-page.tsx';
import { KeysPage } from './holder/keys-page.tsx';
import type { IconName } from './icons.tsx';
import { AccountPage } from './operator/account-page.tsx';
import { AccountsPage } from './operator/accounts-page.tsx';
import { AdminKeysPage } from './operator/admin-keys-page.tsx';
import { AuditPage } from './operator/audit-page.tsx';
import { OverviewPage } from './operator/overview-page.tsx';
import { ServerPage } from './operator/server/server-page.tsx';
import { PlaygroundPage } from './playground/playground-page.tsx';
import type { SignedIn } from './session.ts';
import { UsagePage } from './usage/usage-page.tsx';

interface Shown {
  readonly session: SignedIn;
  readonly path: string;
}

export interface ConsolePage {
  readonly title: string;
  readonly icon: IconName;
  /** Pages of one section share its entry in the navigation. */
  readonly section: string;
  readonly matches: RegExp;
  /** Path of its navigation entry; undefined if it has none. */
  readonly href?: string;
  readonly show: (shown: Shown) => ComponentChildren;
}

const holderPages: readonly ConsolePage[] = [
  page('/', 'Home', 'home', ({ session }) => <HomePage session={session} />),
  page('/usage', 'Usage', 'usage', ({ session }) => <UsagePage session={session} />),
  page('/keys', 'Keys', 'key', ({ session }) => <KeysPage session={session} />),
  page('/credits', 'Credits', 'credits', () => <CreditsPage />),
  page('/alerts', 'Alerts', 'alert', ({ session }) => <AlertsPage session={session} />),
  {
    ...page('/playground', 'Playground', 'play', ({ path }) => <PlaygroundPage path={path} />),
    matches: /^\/playground(\/speech|\/transcription|\/live|\/conversation)?$/,
  },
];

const operatorPages: readonly ConsolePage[] = [
  page('/', 'Overview', 'home', () => <OverviewPage />),
  page('/accounts', 'Accounts', 'accounts', () => <AccountsPage />),
  {
    title: 'Account',
    icon: 'accounts',
    section: '/accounts',
    matches: /^\/accounts\/[^/]+$/,
    show: ({ path, session }) => (
      <AccountPage id={decodeURIComponent(path.slice('/accounts/'.length))} session={session} />
    ),
  },
  page('/usage', 'Usage', 'usage', ({ session }) => <UsagePage session={session} />),
  page('/server', 'Server', 'server', () => <ServerPage />),
  page('/keys', 'Admin keys', 'key', ({ session }) => <AdminKeysPage session={session} />),
  page('/audit', 'Audit', 'audit', () => <AuditPage />),
];

function page(href: string, title: string, icon: IconName, show: ConsolePage['show']): ConsolePage {
  return { title, icon, section: href, href, matches: new RegExp(`^${href}$`), show };
}

export function pagesFor(kind: SignedIn['kind']): readonly ConsolePage[] {
  return kind === 'admin' ? operatorPages : holderPages;
}
