/** `better-sqlite3` for the executable: its native code comes from inside. */
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { loadNativeCode } from './native-code.ts';

export default new Proxy(Sqlite, {
  construct(target, [file, options]: [string, Sqlite.Options?]) {
    const nativeBinding = loadNativeCode(dirname(file));
    return Reflect.construct(target, [file, { ...options, nativeBinding }]);
  },
});
