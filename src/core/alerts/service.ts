import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { Call } from '../access/call.ts';
import { type OwnKeyDeps, ownKey } from '../access/own-key.ts';
import type { AccountAlerts } from './account-alerts.ts';

/** Implements AlertsService. The gate has checked the scope; nothing here reaches another account. */
export class AlertOperations {
  readonly #alerts: AccountAlerts;
  readonly #deps: OwnKeyDeps;

  constructor(alerts: AccountAlerts, deps: OwnKeyDeps) {
    this.#alerts = alerts;
    this.#deps = deps;
  }

  async getAlertSettings(
    _request: pb.GetAlertSettingsRequest,
    { caller }: Call,
  ): Promise<pb.GetAlertSettingsResponse> {
    return create(pb.GetAlertSettingsResponseSchema, await this.#alerts.settings(caller.account.id));
  }

  async setAlertSettings(
    request: pb.SetAlertSettingsRequest,
    { caller }: Call,
  ): Promise<pb.SetAlertSettingsResponse> {
    const { id: actor } = await ownKey(this.#deps, caller);
    const set = await this.#alerts.setSettings(caller.account.id, request, { actor });
    return create(pb.SetAlertSettingsResponseSchema, set);
  }

  async listAlerts(request: pb.ListAlertsRequest, { caller }: Call): Promise<pb.ListAlertsResponse> {
    return create(pb.ListAlertsResponseSchema, await this.#alerts.list(caller.account.id, request));
  }

  async sendTestAlert(
    _request: pb.SendTestAlertRequest,
    { caller }: Call,
  ): Promise<pb.SendTestAlertResponse> {
    await ownKey(this.#deps, caller);
    const alert = await this.#alerts.sendTest(caller.account.id);
    return create(pb.SendTestAlertResponseSchema, { alert });
  }
}
