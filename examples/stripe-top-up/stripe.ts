/** Sells credits with Stripe Checkout, and turns Stripe's events into entries of the ledger. */
import Stripe from 'stripe';
import type { Entry } from './parley.ts';
import type { StripeSettings } from './settings.ts';

export class StripeShop {
  readonly #settings: StripeSettings;
  readonly #stripe: Stripe;

  constructor(settings: StripeSettings) {
    this.#settings = settings;
    this.#stripe = new Stripe(settings.secretKey, settings.apiUrl ? addressOf(settings.apiUrl) : {});
  }

  /** Begins a payment. @returns the URL of its page */
  async checkout(account: string, credits: number): Promise<string> {
    const { centsPerCredit, currency, returnUrl } = this.#settings;
    // Refunds find the account and the credits here.
    const metadata = { parley_account: account, parley_credits: String(credits) };
    const session = await this.#stripe.checkout.sessions.create({
      mode: 'payment',
      line_items: [
        {
          quantity: credits,
          price_data: { currency, unit_amount: centsPerCredit, product_data: { name: 'Credits' } },
        },
      ],
      metadata,
      payment_intent_data: { metadata },
      success_url: returnUrl,
    });
    if (!session.url) throw new Error('the checkout session has no URL');
    return session.url;
  }

  /** @throws an error of Stripe's library for a signature that is wrong or older than five minutes */
  verified(body: Buffer, signature: string): Stripe.Event {
    return this.#stripe.webhooks.constructEvent(body, signature, this.#settings.webhookSecret);
  }

  /** Undefined for an event that moves no credits. */
  async entryOf(event: Stripe.Event): Promise<Entry | undefined> {
    switch (event.type) {
      // Payments by bank transfer are paid later, with the second event.
      case 'checkout.session.completed':
      case 'checkout.session.async_payment_succeeded':
        return loadOf(event.data.object);
      case 'refund.created':
      case 'refund.updated':
        return this.#refundOf(event.data.object);
      default:
        return undefined;
    }
  }

  async #refundOf({ id, status, amount, payment_intent }: Stripe.Refund): Promise<Entry | undefined> {
    const paymentId = idOf(payment_intent);
    if (status !== 'succeeded' || paymentId === undefined) return undefined;
    const payment = await this.#stripe.paymentIntents.retrieve(paymentId);
    const order = orderOf(payment.metadata);
    if (order === undefined || payment.amount_received <= 0) return undefined;
    const nano = (BigInt(order.credits) * 1_000_000_000n * BigInt(amount)) / BigInt(payment.amount_received);
    const reason = `Stripe refund ${id} of ${paymentId}`;
    return { kind: 'adjustments', account: order.account, amount: `-${decimal(nano)}`, reason, once: id };
  }
}

function loadOf({ payment_status, payment_intent, metadata }: Stripe.Checkout.Session): Entry | undefined {
  const id = idOf(payment_intent);
  const order = orderOf(metadata);
  if (payment_status !== 'paid' || id === undefined || order === undefined) return undefined;
  const { account, credits } = order;
  return { kind: 'credits', account, amount: credits, reason: `Stripe payment ${id}`, once: id };
}

/** Payments of other products have no such metadata. */
function orderOf(metadata: Stripe.Metadata | null): { account: string; credits: string } | undefined {
  const { parley_account: account, parley_credits: credits } = metadata ?? {};
  return account && credits && /^[1-9]\d{0,8}$/.test(credits) ? { account, credits } : undefined;
}

function idOf(object: string | { readonly id: string } | null): string | undefined {
  return typeof object === 'string' ? object : object?.id;
}

function decimal(nano: bigint): string {
  const digits = String(nano).padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

function addressOf(text: string) {
  const { hostname, port, protocol } = new URL(text);
  return { host: hostname, port, protocol: protocol === 'https:' ? 'https' : 'http' } as const;
}
