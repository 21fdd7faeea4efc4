/** The settings, from variables of the environment. */

export interface StripeSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** The price of a credit in the smallest unit of the currency, such as cents. */
  readonly centsPerCredit: number;
  /** Such as `usd`. */
  readonly currency: string;
  /** The page to which a buyer returns. */
  readonly returnUrl: string;
  /** Default: Stripe's own. Tests set another. */
  readonly apiUrl: string | undefined;
}

export interface Settings {
  /** The server with Parley, such as `http://127.0.0.1:8080`. */
  readonly parleyUrl: string;
  /** The base URL of its administration, which may be another port. */
  readonly parleyAdminUrl: string;
  /** An admin key with the scope `credits:load` alone. */
  readonly parleyKey: string;
  readonly port: number;
  readonly stripe: StripeSettings | undefined;
  /** The secret of the other webhook, which follows Standard Webhooks. */
  readonly webhookSecret: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws Error that names the variable */
export function readSettings(env: Environment): Settings {
  const parleyUrl = matching(env, 'PARLEY_URL', /^https?:\/\/\S+$/, 'a URL such as http://127.0.0.1:8080');
  const stripe = 'STRIPE_SECRET_KEY' in env || 'STRIPE_WEBHOOK_SECRET' in env ? readStripe(env) : undefined;
  const secretForm = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;
  const webhookSecret =
    'WEBHOOK_SECRET' in env
      ? matching(env, 'WEBHOOK_SECRET', secretForm, '`whsec_` and at least 24 bytes in base64')
      : undefined;
  if (stripe === undefined && webhookSecret === undefined) {
    throw new Error('Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET, or WEBHOOK_SECRET.');
  }
  return {
    parleyUrl,
    parleyAdminUrl: env['PARLEY_ADMIN_URL']
      ? matching(env, 'PARLEY_ADMIN_URL', /^https?:\/\//, 'a URL')
      : parleyUrl,
    parleyKey: matching(env, 'PARLEY_KEY', /^\S{32,}$/, 'an admin key with the scope credits:load'),
    port: Number(matching({ PORT: '4242', ...env }, 'PORT', /^\d{1,5}$/, 'a port')),
    stripe,
    webhookSecret,
  };
}

/** An empty webhook secret would accept events that anyone has signed. */
function readStripe(env: Environment): StripeSettings {
  return {
    secretKey: matching(env, 'STRIPE_SECRET_KEY', /^[rs]k_\S{8,}$/, 'the secret key of Stripe'),
    webhookSecret: matching(
      env,
      'STRIPE_WEBHOOK_SECRET',
      /^whsec_\S{16,}$/,
      'the secret of its webhook, whsec_…',
    ),
    centsPerCredit: Number(matching(env, 'CENTS_PER_CREDIT', /^[1-9]\d{0,6}$/, 'a whole number from 1')),
    currency: matching(env, 'CURRENCY', /^[a-z]{3}$/, 'a currency such as usd'),
    returnUrl: matching(env, 'RETURN_URL', /^https?:\/\/\S+$/, 'a URL'),
    apiUrl: env['STRIPE_API_URL'] || undefined,
  };
}

function matching(env: Environment, name: string, form: RegExp, words: string): string {
  const value = env[name]?.trim() ?? '';
  if (form.test(value)) return value;
  throw new Error(`${name} must be ${words}.`);
}
