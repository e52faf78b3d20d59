import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endsTransaction, firstFrameAt, followFrame, type LogHeader, readHeader } from './wal-log.ts';

/**
 * Only what was committed and not yet flushed can be lost where the power fails, and each group of transactions is flushed
 * before the next begins. So a bad frame with more whole transactions than this behind it is damage, and no crash: a few,
 * since a command may have committed beside the service.
 */
const MOST_UNFLUSHED = 4;
const PAGE_SIZE_AT = 16;
const FRAMES_AT_ONCE = 256;

/**
 * Whether a log lacks something that was promised: SQLite takes the first bad frame for the end of a log, and would go
 * on without what is behind it.
 */
export function isLogDamaged(databasePath: string): boolean {
  const path = `${databasePath}-wal`;
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // There is none; or what opens the database will say why it cannot be read.
    return false;
  }
  try {
    const header = readHeader(readBytes(file, 0, firstFrameAt)) ?? guessHeader(file, databasePath);
    return header !== null && transactionsBehindHole(file, header) > MOST_UNFLUSHED;
  } finally {
    closeSync(file);
  }
}

function transactionsBehindHole(file: number, header: LogHeader): number {
  let sums: LogHeader['sums'] | null = header.sums;
  let behind = 0;
  for (const frame of frames(file, header.frameBytes)) {
    if (sums !== null) sums = followFrame(header, sums, frame);
    if (sums === null && endsTransaction(header, frame)) behind += 1;
  }
  return behind;
}

function* frames(file: number, frameBytes: number): Generator<Buffer> {
  const { size } = fstatSync(file);
  for (let at = firstFrameAt; at < size; at += frameBytes * FRAMES_AT_ONCE) {
    const bytes = readBytes(file, at, frameBytes * FRAMES_AT_ONCE);
    for (let start = 0; start + frameBytes <= bytes.length; start += frameBytes) {
      yield bytes.subarray(start, start + frameBytes);
    }
  }
}

/** Where the header itself is damaged: that of the first frame names the same salts. Its sums follow on nothing. */
function guessHeader(file: number, databasePath: string): LogHeader | null {
  const frame = readBytes(file, firstFrameAt, 24);
  const pageBytes = pageSizeOf(databasePath);
  if (frame.length < 24 || pageBytes === null) return null;
  const salts = Buffer.from(frame.subarray(8, 16));
  return { frameBytes: pageBytes + 24, salts, sums: [0, 0], isBigEndian: false };
}

function pageSizeOf(databasePath: string): number | null {
  const file = openSync(databasePath, 'r');
  try {
    const head = readBytes(file, 0, 100);
    const size = head.length < 100 ? 0 : head.readUInt16BE(PAGE_SIZE_AT);
    if (size === 1) return 65_536;
    return size >= 512 ? size : null;
  } finally {
    closeSync(file);
  }
}

function readBytes(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, at));
}
