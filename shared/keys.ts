/** A key for apps that was created with a name; the key itself is shown once. */
export interface NamedKey {
  readonly name: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Null if it was not used yet. */
  readonly lastUsedAt: string | null;
}

/** `GET /api/v1/keys`. */
export interface KeyList {
  readonly keys: readonly NamedKey[];
  /** How many more the setting API_KEYS holds. */
  readonly unnamed: number;
}

/** The answer to `POST /api/v1/keys`. */
export interface AddedKey {
  readonly name: string;
  readonly key: string;
}
