/**
 * Listening sockets that systemd keeps and passes on (`parley.socket`, sd_listen_fds(3)), so that a restart refuses no
 * connection.
 */
import type { ListeningSockets } from '../../../app/listeners.ts';
import { CliError } from '../../terminal/command.ts';

/** First file descriptor of the sockets from systemd. */
const firstFd = 3;
/** Name of the socket for administration (`FileDescriptorName=admin`). Any other is for clients. */
const adminName = 'admin';

/**
 * @param env with LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from systemd
 * @throws CliError if there are sockets that the server would not serve
 */
export function passedSockets(env: NodeJS.ProcessEnv, hasAdminPort: boolean): ListeningSockets {
  // A child process inherits the variables, but the sockets are not meant for it.
  if (env['LISTEN_PID'] !== String(process.pid)) return {};
  const names = (env['LISTEN_FDNAMES'] ?? '').split(':');
  const sockets = Array.from({ length: Number(env['LISTEN_FDS'] ?? 0) }, (_, index) => ({
    fd: firstFd + index,
    isAdmin: names[index] === adminName,
  }));
  const [admins, mains] = [
    sockets.filter(({ isAdmin }) => isAdmin),
    sockets.filter(({ isAdmin }) => !isAdmin),
  ];
  if (mains.length > 1 || admins.length > 1) {
    throw new CliError(
      `systemd passes ${sockets.length} sockets. Parley takes one, and one more with FileDescriptorName=${adminName}: remove the others from the socket unit.`,
    );
  }
  if (admins.length > 0 && !hasAdminPort) {
    throw new CliError(
      'systemd passes a socket for administration. Set admin.port, or remove that socket unit.',
    );
  }
  const [[main], [admin]] = [mains, admins];
  return { ...(main && { main: main.fd }), ...(admin && { admin: admin.fd }) };
}
