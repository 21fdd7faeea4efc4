import type { Config } from '../../config/config.ts';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { mailSender } from '../alerts.ts';

/** Whether the mail server of alerts answers and takes the login. */
export async function diagnoseMail(config: Config): Promise<Diagnostic[]> {
  const failure = await mailSender(config)?.check();
  const { host, user } = config.alerts.smtp ?? {};
  if (failure === undefined) {
    return [ok('mail server', `${host} answers${user === undefined ? '' : ' and takes the login'}.`)];
  }
  return [problem('mail server', `${host}: ${failure}`, 'Correct `alerts.smtp`, or start the mail server.')];
}
