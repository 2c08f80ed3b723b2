import { type Caller, type Client, partOf } from './client.ts';

/** A browser that keeps control across restarts. */
export interface RememberedBrowser {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly seenAt: number;
}

export interface AboutGateway {
  readonly version: string;
  readonly dataDirectory: string;
  readonly node: string;
  readonly platform: string;
  readonly uptimeSeconds: number;
}

const DIAGNOSTICS = ['about', 'status', 'settings', 'agent', 'providers'] as const;

export type Access = ReturnType<typeof createAccess>;

/** Remembered browsers, the log and the diagnostics. */
export function createAccess(
  client: Pick<Client, 'remember'>,
  { call, act }: Caller,
  answered: () => void,
) {
  /** Null if the log is not written to a file. */
  const logs = async () =>
    partOf(
      await call<{ readonly lines: readonly string[] | null }>('/api/v1/logs'),
      ({ lines }) => lines,
    );
  return {
    about: () => call<AboutGateway>('/api/v1/about'),
    browsers: async () =>
      partOf(
        await call<{ readonly data: readonly RememberedBrowser[] }>('/api/v1/browsers'),
        ({ data }) => data,
      ),
    /** Resolves with an error message, or null. */
    remember: async (name: string): Promise<string | null> => {
      const problem = await client.remember(name);
      answered();
      return problem;
    },
    forget: (id: string) => act(`/api/v1/browsers/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    logs,
    /** Everything for a bug report, as a ZIP archive; secrets are masked by the gateway. */
    diagnostics: async (): Promise<Blob> => {
      const parts = DIAGNOSTICS.map(async (part): Promise<ZipEntry> => {
        const answer = await call(`/api/v1/${part}`);
        const said = answer.ok ? answer.value : answer.refusal.message;
        return { name: `${part}.json`, text: `${JSON.stringify(said, null, 2)}\n` };
      });
      const log = async (): Promise<readonly ZipEntry[]> => {
        const answer = await logs();
        const lines = answer.ok ? answer.value : [answer.refusal.message];
        return lines === null ? [] : [{ name: 'log.txt', text: `${lines.join('\n')}\n` }];
      };
      return zipOf([...(await Promise.all(parts)), ...(await log())], new Date());
    },
  };
}

/** A file of an archive. */
interface ZipEntry {
  readonly name: string;
  readonly text: string;
}

/* The fields that every reader needs (PKWARE's APPNOTE.TXT, 4.3), without Zip64: archives are smaller than 4 GB. */

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
const VERSION = 20;
/** General purpose bit 11: names are UTF-8. */
const FLAGS = 0x0800;
const DEFLATED = 8;

/** A ZIP archive with these files; `at` is the modification time of all. */
export async function zipOf(entries: readonly ZipEntry[], at: Date): Promise<Blob> {
  const files: Bytes[] = [];
  const directory: Bytes[] = [];
  let offset = 0;
  for (const { name, text } of entries) {
    const encoded = new TextEncoder().encode(name);
    const content = new TextEncoder().encode(text);
    // In sequence: each offset depends on the entries before it.
    const packed = await deflated(content);
    const common = [
      ...u16(VERSION, FLAGS, DEFLATED, timeOf(at), dateOf(at)),
      ...u32(crc32(content), packed.length, content.length),
      ...u16(encoded.length, 0),
    ];
    const header = bytes(u32(LOCAL_HEADER), common);
    files.push(header, encoded, packed);
    const place = [...u16(0, 0, 0), ...u32(0, offset)];
    directory.push(bytes(u32(CENTRAL_HEADER), u16(VERSION), common, place), encoded);
    offset += header.length + encoded.length + packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const counts = u16(0, 0, entries.length, entries.length);
  const end = bytes(u32(END_OF_DIRECTORY), counts, u32(size, offset), u16(0));
  return new Blob([...files, ...directory, end], { type: 'application/zip' });
}

type Bytes = Uint8Array<ArrayBuffer>;

async function deflated(content: Bytes): Promise<Bytes> {
  const packed = new Blob([content]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

function bytes(...parts: readonly (readonly number[])[]): Bytes {
  return Uint8Array.from(parts.flat());
}

function u16(...values: readonly number[]): readonly number[] {
  return values.flatMap((value) => [value & 0xff, (value >>> 8) & 0xff]);
}

function u32(...values: readonly number[]): readonly number[] {
  return values.flatMap((value) => u16(value & 0xffff, value >>> 16));
}

/** MS-DOS times have a resolution of two seconds. */
function timeOf(at: Date): number {
  return (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1);
}

function dateOf(at: Date): number {
  return ((at.getFullYear() - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate();
}

function crc32(content: Bytes): number {
  let crc = -1;
  for (const byte of content) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
