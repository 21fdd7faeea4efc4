import { type AdminScope, adminScopes, type Key } from '../entities/key.ts';

/** The scope that includes another one. */
const widerScopes: { readonly [K in AdminScope]?: AdminScope } = {
  'alerts:read': 'alerts',
  'server:read': 'server',
  'audit:read': 'server',
};

/** Whether an admin key has a scope. A key without scopes may do everything. */
export function hasAdminScope({ scopes: own }: Pick<Key, 'scopes'>, scope: AdminScope): boolean {
  const wider = widerScopes[scope];
  return own.length === 0 || own.includes(scope) || (wider !== undefined && own.includes(wider));
}

/** All scopes that an admin key has, those that others include among them. */
export function adminScopesOf(key: Pick<Key, 'scopes'>): AdminScope[] {
  return adminScopes.filter((scope) => hasAdminScope(key, scope));
}
