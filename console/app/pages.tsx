/** The pages of holders and of operators, by their paths below `/console`. */
import type { ComponentChildren } from 'preact';
import type { IconName } from './icons.tsx';
import { later } from './later.tsx';
import { mayDo, type SignedIn } from './session.ts';

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

const usage = later('the page Usage', async () => (await import('./usage/usage-page.tsx')).UsagePage);

const models: ConsolePage = {
  ...page(
    '/models',
    'Models',
    'model',
    later('the page of the models', async () => (await import('./models-page.tsx')).ModelsPage),
  ),
  isWide: true,
};

const playground: ConsolePage = {
  ...page(
    '/playground',
    'Playground',
    'play',
    later(
      'the playground',
      async () => (await import('./playground/playground-page.tsx')).PlaygroundPage,
      'Playground',
    ),
  ),
  matches: /^\/playground(\/speech|\/transcription|\/live|\/conversation)?$/,
};

const holderPages: readonly ConsolePage[] = [
  page(
    '/',
    'Home',
    'home',
    later('the page of your account', async () => (await import('./holder/home-page.tsx')).HomePage),
  ),
  { ...page('/usage', 'Usage', 'usage', usage), isWide: true },
  page(
    '/keys',
    'Keys',
    'key',
    later('the page of the keys', async () => (await import('./holder/keys-page.tsx')).KeysPage),
  ),
  page(
    '/credits',
    'Credits',
    'credits',
    later('the page of credits', async () => (await import('./holder/credits-page.tsx')).CreditsPage),
  ),
  {
    title: 'Statement',
    icon: 'credits',
    section: '/credits',
    matches: /^\/credits\/statement$/,
    show: later('the statement', async () => (await import('./statement-page.tsx')).OwnStatementPage),
  },
  page(
    '/alerts',
    'Alerts',
    'alert',
    later('the page of the alerts', async () => (await import('./holder/alerts-page.tsx')).AlertsPage),
  ),
  models,
  playground,
];

const operatorPages: readonly ConsolePage[] = [
  page(
    '/',
    'Overview',
    'home',
    later(
      'the page of the overview',
      async () => (await import('./operator/overview-page.tsx')).OverviewPage,
    ),
  ),
  {
    ...page(
      '/accounts',
      'Accounts',
      'accounts',
      later(
        'the page of the accounts',
        async () => (await import('./operator/accounts-page.tsx')).AccountsPage,
      ),
    ),
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
    show: later('the account', async () => {
      const { AccountPage } = await import('./operator/account-page.tsx');
      return ({ path, session }) => <AccountPage id={idIn(path)} session={session} />;
    }),
  },
  {
    title: 'Statement',
    icon: 'accounts',
    section: '/accounts',
    matches: /^\/accounts\/[^/]+\/statement$/,
    show: later('the statement of an account', async () => {
      const { StatementPage } = await import('./statement-page.tsx');
      return ({ path, session }) => <StatementPage id={idIn(path)} session={session} />;
    }),
    scope: 'accounts:read',
  },
  { ...page('/usage', 'Usage', 'usage', usage), scope: 'usage:read', isWide: true },
  { ...models, scope: 'server:read' },
  {
    ...page(
      '/server',
      'Server',
      'server',
      later(
        'the page of the server',
        async () => (await import('./operator/server/server-page.tsx')).ServerPage,
      ),
    ),
    scope: 'server:read',
    isWide: true,
  },
  {
    ...page(
      '/keys',
      'Admin keys',
      'key',
      later(
        'the page of the admin keys',
        async () => (await import('./operator/admin-keys-page.tsx')).AdminKeysPage,
      ),
    ),
    scope: 'keys',
  },
  { ...playground, scope: 'keys' },
  {
    ...page(
      '/audit',
      'Audit',
      'audit',
      later('the page of the audit trail', async () => (await import('./operator/audit-page.tsx')).AuditPage),
    ),
    scope: 'audit:read',
    isWide: true,
  },
];

const idIn = (path: string) => decodeURIComponent(path.split('/')[2] ?? '');

function page(href: string, title: string, icon: IconName, show: ConsolePage['show']): ConsolePage {
  return { title, icon, section: href, href, matches: new RegExp(`^${href}$`), show };
}

export function pagesFor(session: SignedIn): readonly ConsolePage[] {
  if (session.kind === 'account') return holderPages;
  return operatorPages.filter(({ scope }) => scope === undefined || mayDo(session, scope));
}
