import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { parseJson } from '../../platform/json.ts';
import { digestOf, isSecretShaped } from '../../platform/secrets.ts';
import {
  closeToOthers,
  readSecretFile,
  removeSecretFile,
  setAside,
  writeSecretFileLater,
} from './secret-file.ts';

/** Stores the enrolment, which is a secret, across restarts. */
export type EnrollmentFile = ReturnType<typeof createEnrollmentFile>;

const FILE = 'agent.json';

const enrollmentSchema = z.object({
  /** Origin of the gateway, as in `http://192.168.1.10:47900`. */
  registryUrl: z.string(),
  /** The provider id of that enrolment, which is not valid for another key. */
  id: z.string(),
  gatewayToken: z.string().refine(isSecretShaped),
  /** SHA-256 of the enrolment token, in hex: a token that stays in the environment is not used twice. */
  tokenDigest: z.string(),
  /** As that gateway last announced it; left out if it is in no pool. */
  pool: z.object({ id: z.string(), registries: z.array(z.string()).readonly() }).optional(),
});
const fileSchema = enrollmentSchema.extend({ version: z.literal(1) });

/** The gateway that this agent is enrolled with, and its token. */
export type SavedEnrollment = Readonly<z.infer<typeof enrollmentSchema>>;

export function createEnrollmentFile(directory: string, clock: Clock, platform: string) {
  const path = join(directory, FILE);
  return {
    load() {
      const saved = readSecretFile(path);
      if (saved.kind === 'missing') return { enrolment: null, warning: null };
      const parsed =
        saved.kind === 'text' ? fileSchema.safeParse(parseJson(saved.text)).data : null;
      if (parsed === null || parsed === undefined) {
        const aside = setAside(path, clock);
        const happened = `The enrolment of this machine at a gateway could not be read from ${path}; it was set aside as ${aside}.`;
        const remedy = 'Join it again with a new join command from that gateway.';
        return { enrolment: null, warning: { happened, remedy } };
      }
      closeToOthers(path, platform);
      const { version: _, ...enrolment } = parsed;
      return { enrolment, warning: null };
    },
    /** Returns the error code, or null once it is on disk. */
    save: (enrolment: SavedEnrollment) =>
      writeSecretFileLater(path, JSON.stringify({ version: 1, ...enrolment })),
    remove: () => removeSecretFile(path),
  };
}

/** The SHA-256 of an enrolment token, in hex. */
export function tokenDigest(token: string): string {
  return digestOf(token).toString('hex');
}
