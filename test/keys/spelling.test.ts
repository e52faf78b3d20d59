import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { assertReason } from '../oauth/requests.ts';
import { assertInvalid, takeApart } from './forge.ts';

let service: TestService;
let genuine: string;
before(async () => {
  service = await startService();
  ({ accessToken: genuine } = await service.tokens(await service.createAgent()));
});
after(async () => {
  await assertReason(service, genuine, null);
  await service.stop();
});

test('one changed character in any segment is one too many', async () => {
  const { segments } = takeApart(genuine);
  const flip = (text: string, at: number) =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
  const { header, payload, signature } = segments;
  for (const share of [0, 0.3, 0.6, 0.95]) {
    const at = (text: string) => Math.floor(text.length * share);
    await assertInvalid(service, {
      [`header at ${share}`]: `${flip(header, at(header))}.${payload}.${signature}`,
      [`payload at ${share}`]: `${header}.${flip(payload, at(payload))}.${signature}`,
      [`signature at ${share}`]: `${header}.${payload}.${flip(signature, at(signature))}`,
    });
  }
});

test('a token has one spelling: truncated, longer, padded and otherwise encoded ones are invalid', async () => {
  const { header, payload, signature } = takeApart(genuine).segments;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(signature.at(-1) ?? '');
  await assertInvalid(service, {
    truncated: genuine.slice(0, -1),
    'half a signature': `${header}.${payload}.${signature.slice(0, 171)}`,
    'empty signature': `${header}.${payload}.`,
    'no signature': `${header}.${payload}`,
    'header alone': header,
    'swapped segments': `${payload}.${header}.${signature}`,
    'extra segment': `${genuine}.${signature}`,
    'extra dot': `${genuine}.`,
    'leading dot': `.${genuine}`,
    'five segments': `${genuine}.a.b`,
    padded: `${genuine}==`,
    'half padded': `${genuine}=`,
    'padded header': `${header}=.${payload}.${signature}`,
    'a character more': `${genuine}A`,
    'four characters more': `${genuine}AAAA`,
    'unused last bits set': `${genuine.slice(0, -1)}${alphabet[last ^ 1]}`,
    'base64 instead of base64url': `${genuine}+`,
    tilde: `${genuine}~`,
    twice: `${genuine},${genuine}`,
  });
});

test('POST /oauth/introspect 200: whitespace anywhere makes a token invalid', async () => {
  const middle = genuine.length - 100;
  for (const space of [' ', '\t', '\n', '\r\n', '\u00a0', '\u200b', '\ufeff']) {
    const spaced = genuine.slice(0, middle) + space + genuine.slice(middle);
    for (const token of [`${space}${genuine}`, `${genuine}${space}`, spaced]) {
      await assertReason(service, token, 'invalid', JSON.stringify(space));
    }
  }
});
