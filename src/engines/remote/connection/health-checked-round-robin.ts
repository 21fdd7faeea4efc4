/**
 * A load-balancing policy: round robin over connections to serving servers, by grpc.health.v1. grpc-js has no
 * client-side health checking and ignores `healthCheckConfig`.
 */
import { experimental } from '@grpc/grpc-js';
import { HealthCheckedSubchannel } from './health-checked-subchannel.ts';

const policyName = 'parley_health_checked_round_robin';

class PolicyConfig {
  getLoadBalancerName(): string {
    return policyName;
  }

  toJsonObject(): object {
    return { [policyName]: {} };
  }

  static createFromJson(): PolicyConfig {
    return new PolicyConfig();
  }
}

class HealthCheckedRoundRobin implements experimental.LoadBalancer {
  readonly #roundRobin: experimental.ChildLoadBalancerHandler;

  constructor(channel: experimental.ChannelControlHelper) {
    const watched = experimental.createChildChannelControlHelper(channel, {
      createSubchannel: (address, options) =>
        new HealthCheckedSubchannel(channel.createSubchannel(address, options)),
    });
    this.#roundRobin = new experimental.ChildLoadBalancerHandler(watched);
  }

  updateAddressList(
    ...[endpoints, , options, note]: Parameters<experimental.LoadBalancer['updateAddressList']>
  ) {
    const config = experimental.parseLoadBalancingConfig({ round_robin: {} });
    return this.#roundRobin.updateAddressList(endpoints, config, options, note);
  }

  exitIdle(): void {
    this.#roundRobin.exitIdle();
  }

  resetBackoff(): void {
    this.#roundRobin.resetBackoff();
  }

  destroy(): void {
    this.#roundRobin.destroy();
  }

  getTypeName(): string {
    return policyName;
  }
}

/** The `loadBalancingConfig` of a service config that selects this policy. */
export function healthCheckedRoundRobin(): object[] {
  if (!experimental.isLoadBalancerNameRegistered(policyName)) {
    experimental.registerLoadBalancerType(policyName, HealthCheckedRoundRobin, PolicyConfig);
  }
  return [{ [policyName]: {} }];
}
