import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const certificatePath = (name: string): string =>
  join(import.meta.dirname, 'webhooks', 'faults', 'certificates', name);

/** `good.crt` and its key for a server that takes a key only from its own user, and where nobody else can read it. */
export function copyCertificate(folder: string): void {
  const { uid, gid } = statSync(folder);
  for (const name of ['good.crt', 'receiver.key']) {
    const copy = join(folder, name);
    copyFileSync(certificatePath(name), copy);
    chmodSync(copy, 0o600);
    chownSync(copy, uid, gid);
  }
}
