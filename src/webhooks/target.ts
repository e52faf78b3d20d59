import ipaddr from 'ipaddr.js';

/** `any` reaches private networks too; `public` does not. Neither reaches link-local and metadata addresses. */
export type TargetPolicy = 'any' | 'public';

/** Where clouds hand credentials to whoever asks from inside, outside of the link-local ranges. */
const METADATA = ['100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'];

/** `address` is a literal, as the resolver or the URL has it; anything else is refused. */
export function isAllowedAddress(address: string, policy: TargetPolicy): boolean {
  const literal = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (!ipaddr.isValid(literal)) return false;
  return reachedAddresses(ipaddr.parse(literal)).every((reached) => isAllowed(reached, policy));
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function isAllowed(address: Address, policy: TargetPolicy): boolean {
  const range = address.range();
  if (range === 'linkLocal' || METADATA.includes(address.toString())) return false;
  return policy === 'any' || range === 'unicast';
}

/** Which bytes hold the IPv4 address in the IPv6 forms that lead to one. */
const EMBEDDED_AT: Readonly<Record<string, readonly number[]>> = {
  ipv4Mapped: [12, 13, 14, 15],
  rfc6145: [12, 13, 14, 15],
  rfc6052: [12, 13, 14, 15],
  '6to4': [2, 3, 4, 5],
};

/** RFC 6052 §2.2, by the length of the prefix, which RFC 8215 leaves to the network. */
const LOCAL_NAT64_AT: ReadonlyArray<readonly number[]> = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];

/** What a translator or tunnel may reach, where the literal is of such a form; itself where it is not. */
function reachedAddresses(address: Address): Address[] {
  if (address.kind() === 'ipv4') return [address];
  const bytes = address.toByteArray();
  const places = isLocalNat64(bytes) ? LOCAL_NAT64_AT : [embeddedAt(address)];
  return places.map((place) =>
    place === null ? address : ipaddr.fromByteArray(place.map((index) => bytes[index] ?? 0)),
  );
}

function embeddedAt(address: Address): readonly number[] | null {
  return EMBEDDED_AT[isIpv4Compatible(address.toByteArray()) ? 'ipv4Mapped' : address.range()] ?? null;
}

/** 64:ff9b:1::/48, RFC 8215. */
const isLocalNat64 = (bytes: readonly number[]): boolean =>
  [0, 0x64, 0xff, 0x9b, 0, 1].every((byte, index) => bytes[index] === byte);

/** ::a.b.c.d, RFC 4291 §2.5.5.1; `::` and `::1` are not of it. */
const isIpv4Compatible = (bytes: readonly number[]): boolean =>
  bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte > 0);
