import { type Logger, pino } from 'pino';

/** To standard error: standard output is for people. */
export function createLog({ logLevel }: { logLevel: string }): Logger {
  return pino(
    {
      level: logLevel,
      base: null,
      redact: ['req.headers.authorization', '*.password', '*.secret', '*.client_secret', '*.token'],
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
