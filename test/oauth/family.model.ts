/** What the tokens of one agent are worth, by the rules alone: no signatures, no store, no HTTP. */
export interface ModelToken {
  value: string;
  kind: 'access' | 'refresh';
  grant: Grant;
  expiresAt: number;
  isRevoked: boolean;
  isUsed: boolean;
}

interface Grant {
  isEnded: boolean;
  /** Which of the agent's secrets it began with. */
  secret: number;
  /** How often the agent had been deactivated, which ends its tokens for good. */
  deactivations: number;
  endsAt: number;
}

export interface Answer {
  accessToken: string;
  refreshToken: string;
}

export const ACCESS_SECONDS = 600;
export const REFRESH_SECONDS = 1500;

export class FamilyModel {
  readonly tokens: ModelToken[] = [];
  readonly #now: () => number;
  #isActive = true;
  #secret = 0;
  #deactivations = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get isActive(): boolean {
    return this.#isActive;
  }

  /** Of equal index for equal histories, whatever the tokens are called. */
  pick(kind: ModelToken['kind'], index: number): ModelToken | undefined {
    const candidates = this.tokens.filter((token) => token.kind === kind);
    return candidates[index % Math.max(candidates.length, 1)];
  }

  newest(kind: ModelToken['kind']): ModelToken | undefined {
    return this.tokens.findLast((token) => token.kind === kind);
  }

  reasonOf(token: ModelToken): string | null {
    if (token.expiresAt <= this.#now()) return 'expired';
    if (token.isRevoked || token.grant.isEnded || token.isUsed) return 'revoked';
    if (!this.#isActive) return 'agent_inactive';
    if (token.grant.deactivations !== this.#deactivations) return 'revoked';
    return token.kind === 'refresh' && token.grant.secret !== this.#secret ? 'revoked' : null;
  }

  issue(answer: Answer): void {
    const endsAt = this.#now() + REFRESH_SECONDS * 1000;
    const grant = { isEnded: false, secret: this.#secret, deactivations: this.#deactivations, endsAt };
    this.#add(grant, answer);
  }

  refresh(token: ModelToken, answer: Answer): void {
    token.isUsed = true;
    this.#add(token.grant, answer);
  }

  /** A use that was refused: it ends the family where the token was used before. */
  refuse(token: ModelToken): void {
    if (token.isUsed && token.expiresAt > this.#now()) token.grant.isEnded = true;
  }

  revoke(token: ModelToken): void {
    if (token.kind === 'refresh') token.grant.isEnded = true;
    else token.isRevoked = true;
  }

  rotateSecret(): void {
    this.#secret += 1;
  }

  setActive(isActive: boolean): void {
    if (this.#isActive && !isActive) this.#deactivations += 1;
    this.#isActive = isActive;
  }

  #add(grant: Grant, { accessToken, refreshToken }: Answer): void {
    const accessEnd = (Math.floor(this.#now() / 1000) + ACCESS_SECONDS) * 1000;
    const fresh = { grant, isRevoked: false, isUsed: false };
    this.tokens.push(
      { ...fresh, value: accessToken, kind: 'access', expiresAt: accessEnd },
      { ...fresh, value: refreshToken, kind: 'refresh', expiresAt: grant.endsAt },
    );
  }
}
