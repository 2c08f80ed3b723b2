import type { EngineView } from '../engines/adapters/engine-view.ts';
import type { AskEdges, EngineAddress } from '../engines/adapters/probe.ts';
import { ENGINE_PORTS, localAddresses } from '../engines/addresses.ts';
import { lookAt } from '../engines/detect.ts';
import { chosen, found } from '../engines/engine-table.ts';
import { type DoctorEntry, shown } from './report.ts';

export interface EngineSearch {
  /** Set by the owner; null: the default ports are tried. */
  readonly pinned: EngineAddress | null;
  /** Ports of this program, which are never tried as an engine's. */
  readonly ownPorts: readonly number[];
  /** For tests. */
  readonly ports?: readonly number[];
  /** Why the address in the settings cannot be used, and the fix; null if it can. */
  readonly fault?: string | null;
}

/** The engine that the agent would serve; null if there is none. */
export interface EngineSearchResult {
  readonly entry: DoctorEntry;
  readonly engine: { readonly view: EngineView; readonly address: EngineAddress } | null;
}

/** Tries every address at which an engine may listen, once. */
export async function findEngine(
  search: EngineSearch,
  edges: AskEdges,
): Promise<EngineSearchResult> {
  const { pinned, ownPorts, ports = ENGINE_PORTS, fault = null } = search;
  if (fault !== null) return { engine: null, entry: unusable(fault) };
  const places = pinned === null ? localAddresses(ports, ownPorts) : [[pinned]];
  const seen = await Promise.all(
    places.map((addresses) => lookInTurn(addresses, pinned !== null, edges)),
  );
  const engines = seen.flatMap(({ engine }) => engine ?? []);
  const view = chosen(
    engines.map((engine) => engine.view),
    null,
  );
  const silent = seen.flatMap((each) => each.silent ?? []);
  const strangers = seen.flatMap(({ stranger }) => stranger ?? []);
  const where = pinned === null ? `ports ${ports.join(', ')} of this machine` : pinned.origin;
  const output = [
    ...engines.map(
      (engine) => `${engine.view.kind} at ${engine.view.baseUrl}: ${engine.view.health.status}`,
    ),
    ...strangers.map((origin) => `an unknown program at ${origin}`),
    ...silent.map(
      (origin) => `a program at ${origin} that accepts connections but does not answer`,
    ),
  ].join('; ');
  return {
    engine: engines.find((engine) => engine.view === view) ?? null,
    entry: {
      name: 'engine found',
      passed: view !== null,
      tried: `looking for an engine at ${where}`,
      output: shown(output === '' ? 'nothing answers' : output),
      remedy: view === null ? remedyFor(pinned, silent.length > 0) : null,
    },
  };
}

function unusable(fault: string): DoctorEntry {
  return {
    name: 'engine found',
    passed: false,
    tried: 'SWITCHYARD_ENGINE_URL',
    output: 'the address cannot be used, so no engine was searched for',
    remedy: fault,
  };
}

function remedyFor(pinned: EngineAddress | null, isSilent: boolean): string {
  if (isSilent) return 'If that is the engine, it hangs: restart it.';
  return pinned === null
    ? 'Start an engine (vLLM, llama.cpp, Ollama, LM Studio …), or set SWITCHYARD_ENGINE_URL if it listens elsewhere.'
    : 'Start that engine, or correct SWITCHYARD_ENGINE_URL.';
}

interface Seen {
  readonly engine: EngineSearchResult['engine'];
  /** Origin of a program that is not an engine. */
  readonly stranger: string | null;
  /** Origin of a program that accepts connections but does not answer. */
  readonly silent: string | null;
}

const NOBODY: Seen = { engine: null, stranger: null, silent: null };

async function lookInTurn(
  addresses: readonly EngineAddress[],
  isPinned: boolean,
  edges: AskEdges,
): Promise<Seen> {
  for (const address of addresses) {
    const look = await lookAt(address, isPinned, edges);
    if (look.kind === 'found') {
      const { view } = found(address, look.found, { arePathsAllowed: false, before: null });
      return { ...NOBODY, engine: { view, address } };
    }
    if (look.kind === 'stranger') return { ...NOBODY, stranger: address.origin };
    if (look.kind === 'silent' && look.isLate) return { ...NOBODY, silent: address.origin };
  }
  return NOBODY;
}
