import type { Registry } from 'prom-client';
import type { AlertObserver } from '../core/entities/webhook.ts';
import { metricsIn } from './request-metrics.ts';

export function observeAlerts(registry: Registry): AlertObserver {
  const { counter } = metricsIn(registry);
  const raised = counter('parley_alerts_raised_total', 'Alerts that were raised.', ['type']);
  const attempts = counter(
    'parley_alert_attempts_total',
    'Attempts to deliver an alert: delivered, failed, or given_up after the last one.',
    ['outcome'],
  );
  // Prometheus sees no increase in a series that begins above 0.
  for (const outcome of ['delivered', 'failed', 'given_up']) attempts.cell({ outcome });
  return {
    raised: (type) => {
      raised.cell({ type }).value++;
    },
    attempted: (outcome) => {
      attempts.cell({ outcome }).value++;
    },
  };
}
