import { type KeyObject, sign } from 'node:crypto';

/**
 * Signs in libuv's pool with at most `concurrency` signatures under way and the rest queued in order: more would not
 * be faster, and would keep files, DNS and password hashes waiting behind them.
 */
export function createSigner(concurrency: number): (data: Buffer, key: KeyObject) => Promise<Buffer> {
  const waiting: Array<() => void> = [];
  let running = 0;

  return (data, key) =>
    new Promise((resolve, reject) => {
      const start = () => {
        running += 1;
        sign('sha256', data, key, (error, signature) => {
          running -= 1;
          waiting.shift()?.();
          if (error) reject(error);
          else resolve(signature);
        });
      };
      if (running < concurrency) start();
      else waiting.push(start);
    });
}
