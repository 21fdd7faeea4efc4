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
import { mayDo, type SignedIn } from './session.ts';
import { OwnStatementPage, StatementPage } from './statement-page.tsx';
import { Show, useLoaded } from './states.tsx';
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
  /** Whether its tables need a wide window. */
  readonly isWide?: boolean;
  readonly show: (shown: Shown) => ComponentChildren;
  /** The scope that an admin key needs for the page. Default: none */
  readonly scope?: string;
}

/** Loaded when it is first shown: a fifth of the whole script. */
function Playground(shown: Shown) {
  const loaded = useLoaded('playground', () => import('./playground/playground-page.tsx'));
  return (
    <>
      <h1>Playground</h1>
      <Show of={loaded} what="the playground">
        {({ PlaygroundPage }) => <PlaygroundPage {...shown} />}
      </Show>
    </>
  );
}

/** Loaded when it is first shown, with the code of the playground. */
function Models() {
  const loaded = useLoaded('models page', () => import('./holder/models-page.tsx'));
  return (
    <>
      <h1>Models</h1>
      <Show of={loaded} what="the models">
        {({ Models }) => <Models />}
      </Show>
    </>
  );
}

const playground: ConsolePage = {
  ...page('/playground', 'Playground', 'play', (shown) => <Playground {...shown} />),
  matches: /^\/playground(\/speech|\/transcription|\/live|\/conversation)?$/,
};

const holderPages: readonly ConsolePage[] = [
  page('/', 'Home', 'home', ({ session }) => <HomePage session={session} />),
  { ...page('/usage', 'Usage', 'usage', ({ session }) => <UsagePage session={session} />), isWide: true },
  page('/keys', 'Keys', 'key', ({ session }) => <KeysPage session={session} />),
  page('/credits', 'Credits', 'credits', () => <CreditsPage />),
  {
    title: 'Statement',
    icon: 'credits',
    section: '/credits',
    matches: /^\/credits\/statement$/,
    show: ({ session }) => <OwnStatementPage session={session} />,
  },
  page('/alerts', 'Alerts', 'alert', ({ session }) => <AlertsPage session={session} />),
  page('/models', 'Models', 'server', () => <Models />),
  playground,
];

const operatorPages: readonly ConsolePage[] = [
  page('/', 'Overview', 'home', ({ session }) => <OverviewPage session={session} />),
  {
    ...page('/accounts', 'Accounts', 'accounts', ({ session }) => <AccountsPage session={session} />),
    scope: 'accounts:read',
    isWide: true,
  },
  {
    title: 'Account',
    icon: 'accounts',
    section: '/accounts',
    matches: /^\/accounts\/[^/]+$/,
    isWide: true,
    scope: 'accounts:read',
    show: ({ path, session }) => (
      <AccountPage id={decodeURIComponent(path.slice('/accounts/'.length))} session={session} />
    ),
  },
  {
    title: 'Statement',
    icon: 'accounts',
    section: '/accounts',
    matches: /^\/accounts\/[^/]+\/statement$/,
    show: ({ path, session }) => (
      <StatementPage id={decodeURIComponent(path.split('/')[2] ?? '')} session={session} />
    ),
    scope: 'accounts:read',
  },
  {
    ...page('/usage', 'Usage', 'usage', ({ session }) => <UsagePage session={session} />),
    scope: 'usage:read',
    isWide: true,
  },
  {
    ...page('/server', 'Server', 'server', ({ session }) => <ServerPage session={session} />),
    scope: 'server:read',
    isWide: true,
  },
  {
    ...page('/keys', 'Admin keys', 'key', ({ session }) => <AdminKeysPage session={session} />),
    scope: 'keys',
  },
  { ...playground, scope: 'keys' },
  {
    ...page('/audit', 'Audit', 'audit', ({ session }) => <AuditPage session={session} />),
    scope: 'audit:read',
    isWide: true,
  },
];

function page(href: string, title: string, icon: IconName, show: ConsolePage['show']): ConsolePage {
  return { title, icon, section: href, href, matches: new RegExp(`^${href}$`), show };
}

export function pagesFor(session: SignedIn): readonly ConsolePage[] {
  if (session.kind === 'account') return holderPages;
  return operatorPages.filter(({ scope }) => scope === undefined || mayDo(session, scope));
}
