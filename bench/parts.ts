import { against } from './against.ts';
import {
  againstBoundsOf,
  boundsOf,
  connectionBoundsOf,
  idleBoundsOf,
  protocolBoundsOf,
  registryBoundsOf,
  soakBoundsOf,
} from './bounds.ts';
import { terminate, type Children } from './children.ts';
import { connections } from './connections.ts';
import { watchOthers } from './disturbance.ts';
import { idle } from './idle.ts';
import { startLoader } from './loader.ts';
import { benchPool } from './pool.ts';
import { poolBoundsOf, poolText } from './pool-report.ts';
import { rssMb } from './proc.ts';
import { protocols } from './protocols.ts';
import { benchRegistry } from './registry.ts';
import {
  againstText,
  boundsTable,
  connectionsText,
  idleText,
  protocolsText,
  registryText,
  reportText,
  soakText,
} from './report.ts';
import { DEFAULT_SCALE, QUICK_SCALE, runRounds } from './rounds.ts';
import { soak } from './soak.ts';
import { summarise } from './summary.ts';
import { startTargets, type Targets } from './targets.ts';

/** One thing that the bench measures; it prints what it brought. `word` is what stood behind its flag. */
export interface Part {
  readonly limitMs: number;
  readonly run: (children: Children, directory: string, word: string) => Promise<void>;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

/** The relay, the protocols and the registry, one after the other. */
export async function runAll(children: Children, directory: string): Promise<void> {
  await runRelay(children, directory, false);
  await runProtocols(children, directory);
  await runRegistry(children, directory);
}

/** The gateway beside the bare proxy and nginx. */
export async function runRelay(
  children: Children,
  directory: string,
  quick: boolean,
): Promise<void> {
  const scale = quick ? QUICK_SCALE : DEFAULT_SCALE;
  say(`Node ${process.version}; ${children.pinning}; ${scale.rounds} rounds`);
  const targets = await startTargets(children, directory, scale.paceMs);
  if (targets.nginx === null) say('nginx: not installed, left out');
  const memoryBefore = memoryOf(targets);
  const loader = await startLoader(children);
  const othersShare = watchOthers([process.pid, ...children.pids()]);
  const rounds = await runRounds(targets, loader, scale, (done) =>
    say(`round ${done} of ${scale.rounds}`),
  );
  const memory = memoryOf(targets).map(({ name, mb }, index) => ({
    name,
    idleMb: memoryBefore[index]?.mb ?? Number.NaN,
    loadedMb: mb,
  }));
  const others = othersShare();
  const stopped = await terminate(targets.gateway.child);
  const summary = summarise(rounds);
  say(`\n${reportText(summary, memory, boundsOf(summary, stopped))}`);
  say(
    `Other programs used ${(100 * others).toFixed(0)} % of the machine: the less, the firmer the figures.`,
  );
  if (quick) say('Quick: few and short rounds; a figure near its bound proves nothing.');
}

/** The other protocols beside chat completions. */
export async function runProtocols(children: Children, directory: string): Promise<void> {
  const figures = await protocols(children, directory);
  say(`\n${protocolsText(figures, protocolBoundsOf(figures))}`);
}

/** The registry with ten thousand machines. */
export async function runRegistry(children: Children, directory: string): Promise<void> {
  const figures = await benchRegistry(children, directory);
  say(`\n${registryText(figures, registryBoundsOf(figures))}`);
}

/** Several gateways on one database, beside one that is alone. */
export async function runPool(
  children: Children,
  _directory: string,
  machines: string,
): Promise<void> {
  const figures = await benchPool(children, machines, say);
  say(`\n${poolText(figures)}\n\n${boundsTable(poolBoundsOf(figures))}`);
}

/** A million requests, half of them failing, while much else goes on. */
export async function runSoak(children: Children, directory: string): Promise<void> {
  const figures = await soak(children, directory);
  say(`\n${soakText(figures, soakBoundsOf(figures))}`);
}

/** Five minutes of doing nothing. */
export async function runIdle(children: Children, directory: string): Promise<void> {
  const figures = await idle(children, directory);
  say(`\n${idleText(figures, idleBoundsOf(figures))}`);
}

/** Ten thousand idle connections, then five thousand streams. */
export async function runConnections(children: Children, directory: string): Promise<void> {
  const figures = await connections(children, directory);
  say(`\n${connectionsText(figures, connectionBoundsOf(figures))}`);
}

/** This checkout beside the one in the folder `other`. */
export async function runAgainst(
  children: Children,
  directory: string,
  other: string,
): Promise<void> {
  const figures = await against(children, directory, other);
  say(`\n${againstText(figures, againstBoundsOf(figures))}`);
}

function memoryOf({ bare, nginx, gateway }: Targets): { name: string; mb: number }[] {
  return Object.entries({ bare, nginx, gateway }).flatMap(([name, target]) =>
    target?.child ? [{ name, mb: rssMb(target.child.pid) }] : [],
  );
}
