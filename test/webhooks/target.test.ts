import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isAllowedAddress } from '../../src/webhooks/target.ts';

const judged = (address: string) => ({
  any: isAllowedAddress(address, 'any'),
  public: isAllowedAddress(address, 'public'),
});
const NOWHERE = { any: false, public: false };
const PRIVATE = { any: true, public: false };
const EVERYWHERE = { any: true, public: true };

for (const [what, verdict, addresses] of [
  ['a public address is allowed by both policies', EVERYWHERE, ['8.8.8.8', '1.1.1.1', '2606:4700::1111']],
  [
    'a private, loopback or otherwise special address is refused by public alone',
    PRIVATE,
    [
      ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '127.0.0.1', '127.255.0.1', '0.0.0.0'],
      ...['100.64.0.1', '192.0.2.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
      ...['::', '::1', 'fc00::1', 'fdff::1', 'fec0::1', 'ff02::1', '2001:db8::1', '100::1'],
    ],
  ],
  [
    'a link-local address is refused by both, with a zone too',
    NOWHERE,
    ['169.254.0.1', '169.254.169.254', '169.254.170.2', 'fe80::1', 'fe80::1%eth0', 'febf::1%2', '[fe80::1]'],
  ],
  [
    'a metadata address outside of the link-local ranges is refused by both, however it is spelled',
    NOWHERE,
    ['100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'FD00:0EC2:0::0254', 'fd20:ce::254'],
  ],
  ['what is no address is refused by both', NOWHERE, ['', 'localhost', '1.2.3.4.5', ':::', '10.0.0.256']],
] as const) {
  test(what, () => {
    for (const address of addresses) assert.deepEqual(judged(address), verdict, address);
  });
}

type Embed = (bytes: readonly number[]) => string;
const hex = (bytes: readonly number[]) => Buffer.from(bytes).toString('hex');
const groups: Embed = (bytes) => `${hex(bytes.slice(0, 2))}:${hex(bytes.slice(2))}`;
const dotted: Embed = (bytes) => bytes.join('.');

const forms: Record<string, Embed> = {
  'IPv4-mapped': (bytes) => `::ffff:${groups(bytes)}`,
  'IPv4-mapped with dots': (bytes) => `::ffff:${dotted(bytes)}`,
  'IPv4-compatible': (bytes) => `::${groups(bytes)}`,
  'IPv4-compatible with dots': (bytes) => `::${dotted(bytes)}`,
  'IPv4-translated': (bytes) => `::ffff:0:${dotted(bytes)}`,
  NAT64: (bytes) => `64:ff9b::${groups(bytes)}`,
  '6to4': (bytes) => `2002:${groups(bytes)}::1`,
};

const special = ['169.254.169.254', '100.100.100.200', '192.0.0.192', '127.0.0.1', '10.1.2.3', '8.8.8.8'];
const ipv4 = fc.oneof(
  fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.constantFrom(...special).map((address) => address.split('.').map(Number)),
);
/** `::` and `::1` are addresses of their own. */
const isEmbeddable = (bytes: readonly number[]) => bytes.slice(0, 3).some((byte) => byte > 0);

for (const [form, embed] of Object.entries(forms)) {
  test(`an IPv4 address and its ${form} form are judged alike`, () => {
    fc.assert(
      fc.property(ipv4.filter(isEmbeddable), (bytes) => {
        assert.deepEqual(judged(embed(bytes)), judged(dotted(bytes)));
      }),
    );
  });
}

/** RFC 6052 §2.2, at the four prefix lengths that fit below 64:ff9b:1::/48. */
const localForms: readonly Embed[] = [
  ([a = 0, b = 0, c = 0, d = 0]) => `64:ff9b:1:${hex([a, b])}:${hex([0, c])}:${hex([d, 0])}::`,
  ([a = 0, b = 0, c = 0, d = 0]) => `64:ff9b:1:${hex([0, a])}:${hex([0, b])}:${hex([c, d])}::`,
  ([a = 0, b = 0, c = 0, d = 0]) => `64:ff9b:1:0:${hex([0, a])}:${hex([b, c])}:${hex([d, 0])}:0`,
  (bytes) => `64:ff9b:1::${groups(bytes)}`,
];

test('what a local NAT64 prefix of any length makes of a refused address is refused', () => {
  fc.assert(
    fc.property(ipv4, fc.constantFrom(...localForms), (bytes, embed) => {
      for (const policy of ['any', 'public'] as const) {
        if (!isAllowedAddress(dotted(bytes), policy)) {
          assert.equal(isAllowedAddress(embed(bytes), policy), false, embed(bytes));
        }
      }
    }),
  );
});

test('a local NAT64 prefix reaches private addresses where the policy is any', () => {
  assert.deepEqual(judged('64:ff9b:1::10.0.0.1'), PRIVATE);
});

for (const spelling of ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0x7f000001', '017700000001']) {
  test(`http://${spelling}/ is judged as the loopback address that it is`, () => {
    assert.deepEqual(judged(new URL(`http://${spelling}/`).hostname), PRIVATE);
    assert.deepEqual(judged(spelling), PRIVATE);
  });
}

for (const spelling of ['2852039166', '0xa9.0xfea9fe', '0251.0376.0251.0376', '[::ffff:a9fe:a9fe]']) {
  test(`http://${spelling}/ is judged as the metadata address that it is`, () => {
    assert.deepEqual(judged(new URL(`http://${spelling}/`).hostname), NOWHERE);
  });
}
