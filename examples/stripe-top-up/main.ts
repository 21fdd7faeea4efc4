import { createTopUp } from './server.ts';
import { readSettings } from './settings.ts';

try {
  const settings = readSettings(process.env);
  createTopUp(settings).listen(settings.port, '127.0.0.1');
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
