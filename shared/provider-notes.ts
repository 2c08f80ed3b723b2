// Apart from the schemas of machines, which the window must not carry.

/** The gateway owner's name for a machine, and a note about it; either may be empty. */
export interface ProviderNote {
  readonly name: string;
  readonly note: string;
}

/** The notes, by the id of the machine. */
export interface ProviderNotes {
  readonly notes: Readonly<Record<string, ProviderNote>>;
}

export const NOTE_LIMITS = { name: 64, note: 500 } as const;
