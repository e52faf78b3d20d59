import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { openPostgres } from '../../src/db/postgres.ts';
import { certificatePath } from '../certificates.ts';
import { onPostgres, unusable } from './postgres.ts';

const authority = certificatePath('authority.crt');

onPostgres((opened) => {
  function urlWith({ host, port, ...parameters }: Record<string, string>): string {
    const url = new URL(opened().url);
    if (host !== undefined) url.hostname = host;
    if (port !== undefined) url.port = port;
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** Whether connections are encrypted, as the server sees them. */
  async function isEncrypted(url: string): Promise<boolean> {
    const database = await openPostgres({ url, connections: 1, hasNamedStatements: true });
    try {
      const sql = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
      const [row] = await database.read<{ ssl: boolean }>(sql, []);
      return row?.ssl ?? assert.fail();
    } finally {
      await database.close();
    }
  }

  /** The port of the same server as one that was built without TLS: it answers the request for it with N. */
  async function startWithoutTls(): Promise<{ port: string; close(): void }> {
    const { hostname, port } = new URL(opened().url);
    const front = createServer(async (socket) => {
      socket.on('error', () => {});
      const [first] = (await once(socket, 'data')) as [Buffer];
      if (first.length === SSL_REQUEST_BYTES) return socket.write('N', () => startRelay());
      return startRelay(first);

      function startRelay(head?: Buffer): void {
        const server = connect(Number(port), hostname).on('error', () => socket.destroy());
        if (head !== undefined) server.write(head);
        socket.pipe(server).pipe(socket);
      }
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
    return { port: String((front.address() as AddressInfo).port), close: () => front.close() };
  }
  const SSL_REQUEST_BYTES = 8;

  test('disable is in the clear; prefer and require encrypt, whoever has signed the certificate', async () => {
    assert.equal(await isEncrypted(urlWith({ sslmode: 'disable' })), false);
    for (const sslmode of ['prefer', 'require']) assert.equal(await isEncrypted(urlWith({ sslmode })), true);
  });

  test('a URL that says nothing of it prefers TLS', async () => {
    const url = new URL(opened().url);
    url.searchParams.delete('sslmode');
    assert.equal(await isEncrypted(url.href), true);
  });

  test('verify-ca, and require with a certificate authority, want its signature, whatever the name', async () => {
    for (const sslmode of ['verify-ca', 'require']) {
      assert.equal(await isEncrypted(urlWith({ sslmode, sslrootcert: authority })), true);
    }
  });

  test('verify-full wants the signature and the name', async () => {
    const sslmode = 'verify-full';
    assert.equal(await isEncrypted(urlWith({ sslmode, sslrootcert: authority, host: 'localhost' })), true);
    const notTrusted = unusable(/certificate of the database server at .+ is not trusted/);
    await assert.rejects(isEncrypted(urlWith({ sslmode, sslrootcert: authority })), notTrusted);
    await assert.rejects(isEncrypted(urlWith({ sslmode, host: 'localhost' })), notTrusted);
  });

  test('a server without TLS is enough for prefer, and refused by every stricter mode', async () => {
    const { port, close } = await startWithoutTls();
    try {
      assert.equal(await isEncrypted(urlWith({ port, sslmode: 'prefer' })), false);
      for (const sslmode of ['require', 'verify-full']) {
        await assert.rejects(isEncrypted(urlWith({ port, sslmode })), unusable(/offers no TLS/));
      }
    } finally {
      close();
    }
  });

  test('a certificate authority that cannot be read is refused with a sentence', async () => {
    const url = urlWith({ sslmode: 'verify-ca', sslrootcert: '/nowhere/authority.crt' });
    await assert.rejects(isEncrypted(url), unusable(/cannot be read/));
  });
});
