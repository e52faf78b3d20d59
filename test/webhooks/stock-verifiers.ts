import { mock } from 'node:test';
import { verify as verifyOctokit } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';

interface Signed {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

/** Whether the packages that receivers use accept a request, each as it is published. */
export async function verdicts(secret: string, request: Signed) {
  const headers = toTexts(request.headers);
  const hex = headers['x-webhook-signature-256'] ?? '';
  return {
    standardwebhooks: accepts(headers, () => new StandardWebhook(secret).verify(request.body, headers)),
    svix: accepts(headers, () => new SvixWebhook(secret).verify(request.body, headers)),
    octokit: await verifyOctokit(secret, request.body, hex),
  };
}

export const ACCEPTED = { standardwebhooks: true, svix: true, octokit: true };
export const REFUSED = { standardwebhooks: false, svix: false, octokit: false };

function toTexts(headers: Signed['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** They refuse what is five minutes old, and the test's clock may be days ahead. */
function accepts(headers: Record<string, string>, verify: () => unknown): boolean {
  mock.timers.enable({ apis: ['Date'], now: Number(headers['webhook-timestamp']) * 1000 });
  try {
    verify();
    return true;
  } catch {
    return false;
  } finally {
    mock.timers.reset();
  }
}
