import { createHmac } from 'node:crypto';

export interface Signable {
  /** The event's id, the same for every attempt: receivers tell repetitions by it. */
  eventId: string;
  /** Seconds since the Unix epoch, of this attempt. */
  timestamp: number;
  body: string;
}

/** `previous` while a rotation's overlap runs. */
export interface SigningSecrets {
  current: string;
  previous: string | null;
}

/**
 * The two schemes that receivers know, from one secret: the hexadecimal HMAC of the body (key: the secret's text), and
 * Standard Webhooks (key: the bytes that the text after `whsec_` encodes). While a rotation's overlap runs, the
 * previous secret signs too.
 */
export function signatureHeaders(signable: Signable, secrets: SigningSecrets): Record<string, string> {
  const digest = hexDigest(secrets.current, signable.body);
  const living = secrets.previous === null ? [secrets.current] : [secrets.current, secrets.previous];
  return {
    'x-webhook-signature': digest,
    'x-webhook-signature-256': `sha256=${digest}`,
    ...(secrets.previous !== null && {
      'x-webhook-previous-signature-256': `sha256=${hexDigest(secrets.previous, signable.body)}`,
    }),
    'webhook-id': signable.eventId,
    'webhook-timestamp': String(signable.timestamp),
    'webhook-signature': living.map((secret) => standardSignature(secret, signable)).join(' '),
  };
}

const hexDigest = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

function standardSignature(secret: string, { eventId, timestamp, body }: Signable): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')}`;
}
