/** Why nothing was copied; the message is a whole sentence for people. */
export class CopyRefused extends Error {
  readonly code: 'migrations_pending' | 'conflict' | 'failed';

  constructor(code: CopyRefused['code'], message: string) {
    super(message);
    this.name = 'CopyRefused';
    this.code = code;
  }
}
