import { version } from '../version.ts';
import { type Signable, type SigningSecrets, signatureHeaders } from './signature.ts';

/** What is sent to a receiver; it is signed when it is sent. */
export interface WebhookRequest {
  url: string;
  eventType: string;
  deliveryId: string;
  signable: Signable;
  secrets: SigningSecrets;
}

export const headersOf = ({
  eventType,
  deliveryId,
  signable,
  secrets,
}: WebhookRequest): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': `Signet/${version}`,
  'x-webhook-event': eventType,
  'x-webhook-delivery': deliveryId,
  ...signatureHeaders(signable, secrets),
});
