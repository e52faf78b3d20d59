/**
 * SQLite's write-ahead log as it lies on the disk (https://www.sqlite.org/fileformat2.html#walformat): a header, then
 * frames of a page each, whose checksums each go on from the one before. Read here to tell a log that ends, as after any
 * crash, from one that is damaged, which SQLite takes for its end as well.
 */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says in which byte order checksums are made. */
const MAGIC = 0x377f0682;
const LARGEST_PAGE = 65_536;

type Sums = readonly [number, number];

export interface LogHeader {
  /** Of a frame, its header included. */
  frameBytes: number;
  salts: Buffer;
  sums: Sums;
  isBigEndian: boolean;
}

export const firstFrameAt = HEADER_BYTES;

/** Null where it is none: the log is new, or was cut off before it had one. */
export function readHeader(bytes: Buffer): LogHeader | null {
  if (bytes.length < HEADER_BYTES) return null;
  const magic = bytes.readUInt32BE(0);
  const pageBytes = bytes.readUInt32BE(8);
  const isPage = pageBytes >= 512 && pageBytes <= LARGEST_PAGE && (pageBytes & (pageBytes - 1)) === 0;
  if ((magic & ~1) >>> 0 !== MAGIC || !isPage) return null;
  const isBigEndian = (magic & 1) === 1;
  const sums = addUp([0, 0], bytes.subarray(0, 24), isBigEndian);
  if (!isSum(sums, bytes, 24)) return null;
  return {
    frameBytes: pageBytes + FRAME_HEADER_BYTES,
    salts: Buffer.from(bytes.subarray(16, 24)),
    sums,
    isBigEndian,
  };
}

/** The sums after a frame that follows on those before it; null where it does not, and the log has ended. */
export function followFrame({ salts, isBigEndian }: LogHeader, before: Sums, frame: Buffer): Sums | null {
  if (!isOfLog(salts, frame)) return null;
  const head = addUp(before, frame.subarray(0, 8), isBigEndian);
  const sums = addUp(head, frame.subarray(FRAME_HEADER_BYTES), isBigEndian);
  return isSum(sums, frame, 16) ? sums : null;
}

/** The last frame of a transaction of this log, whether or not what is before it is whole. */
export const endsTransaction = ({ salts }: LogHeader, frame: Buffer): boolean =>
  isOfLog(salts, frame) && frame.readUInt32BE(4) !== 0;

/** Each time that the log begins anew its salts change, so that what an earlier one left is not taken for its own. */
const isOfLog = (salts: Buffer, frame: Buffer): boolean => frame.compare(salts, 0, 8, 8, 16) === 0;

const isSum = ([one, other]: Sums, bytes: Buffer, at: number): boolean =>
  bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === other;

function addUp(before: Sums, bytes: Buffer, isBigEndian: boolean): Sums {
  let [one, other] = before;
  for (let at = 0; at < bytes.length; at += 8) {
    const first = isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
    const second = isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4);
    one = (one + first + other) >>> 0;
    other = (other + second + one) >>> 0;
  }
  return [one, other];
}
