import { read, write } from 'node:fs';
import { promisify } from 'node:util';
import { firstFrameAt, followFrame, readHeader } from './wal-log.ts';

const readAt = promisify(read);
const writeAt = promisify(write);

/** A step of the event loop is for so much, about a megabyte of pages. */
const FRAMES_AT_ONCE = 256;

/**
 * Writes the first `count` frames of a log with the bytes that they have, those that were checked and no others; false
 * where they are not whole. Nobody else may write the log meanwhile.
 */
export async function rewriteLog(file: number, count: number): Promise<boolean> {
  const head = await readBytes(file, 0, firstFrameAt);
  const header = readHeader(head);
  if (header === null) return false;
  const { frameBytes } = header;
  let sums = header.sums;
  for (let first = 0; first < count; first += FRAMES_AT_ONCE) {
    const frames = Math.min(FRAMES_AT_ONCE, count - first);
    const at = firstFrameAt + first * frameBytes;
    const bytes = await readBytes(file, at, frames * frameBytes);
    for (let start = 0; start < frames * frameBytes; start += frameBytes) {
      const next = followFrame(header, sums, bytes.subarray(start, start + frameBytes));
      if (next === null) return false;
      sums = next;
    }
    await writeBytes(file, bytes, at);
  }
  await writeBytes(file, head, 0);
  return true;
}

async function writeBytes(file: number, bytes: Buffer, at: number): Promise<void> {
  const { bytesWritten } = await writeAt(file, bytes, 0, bytes.length, at);
  if (bytesWritten < bytes.length) throw new Error('The disk took a part of the log only.');
}

/** Zeros where the file is shorter. */
async function readBytes(file: number, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await readAt(file, bytes, 0, length, at);
  return bytes;
}
