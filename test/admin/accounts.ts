import type { TestService } from '../harness.ts';

export interface Account {
  id: string;
  email: string;
  password: string;
}

let made = 0;

/** Made by the first administrator; the password is one that the service made. */
export async function addAdministrator(
  service: TestService,
  input: { role: string; organization_id?: string },
): Promise<Account> {
  const json = { email: `somebody${++made}@signet.test`, ...input };
  const { status, body } = await service.call('POST', '/api/administrators', { admin: true, json });
  if (status !== 201) throw new Error(`making an administrator answered ${status}: ${JSON.stringify(body)}`);
  return { id: body.administrator.id, email: json.email, password: body.password };
}

export async function addOrganization(service: TestService, slug: string): Promise<string> {
  const json = { name: slug, slug, owner_email: 'owner@signet.test' };
  return (await service.call('POST', '/api/organizations', { admin: true, json })).body.id;
}
