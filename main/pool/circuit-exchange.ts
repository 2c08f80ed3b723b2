import { z } from 'zod';
import { parseJson } from '../platform/json.ts';
import {
  CLAIM_MS,
  MAX_PREFIXES,
  type PoolAnswer,
  type PoolUpdate,
  type SharedPrefix,
} from './protocol.ts';
import { storable } from './commit.ts';
import type { Connection } from './connection.ts';

/** The channel on which changed circuits are announced. */
export const NEWS_CHANNEL = 'inglenook_news';
/** On which gateways tell what machines have read: what nobody hears is of no use later, so it is not stored. */
export const PREFIX_CHANNEL = 'inglenook_prefixes';

/** The figures of a gateway that has been silent for this long no longer count. */
const FIGURES_MS = 5000;
/** How long another gateway's request for a probe is remembered. */
const WANTED_MS = 2500;

/** Any number that no other program uses, and other than that of the migrations. */
const LOCK = 7_919_004_202;

/*
 * One statement, with functions of the session, as for commits. Gateways change circuits and claims one after another,
 * so that versions become visible in order, and no two wait for each other. No circuit is open for longer than a day.
 */
const FUNCTIONS = `
CREATE OR REPLACE FUNCTION pg_temp.put_circuits(circuits jsonb, me text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE c jsonb; is_changed boolean := false;
BEGIN
  FOR c IN SELECT value FROM jsonb_array_elements(circuits) LOOP
    INSERT INTO inglenook.circuits AS k (name, version, run, state, written_at)
    VALUES (c->>'name', nextval('inglenook.circuit_versions'), me, (c - 'base')::text, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, run = me, state = excluded.state,
      written_at = excluded.written_at
    WHERE k.version <= (c->>'base')::bigint;
    is_changed := is_changed OR FOUND;
  END LOOP;
  DELETE FROM inglenook.circuits WHERE written_at < clock_timestamp() - interval '27 hours';
  IF is_changed THEN PERFORM pg_notify('${NEWS_CHANNEL}', me); END IF;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.put_figures(running jsonb, me text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF running = '{}' THEN
    DELETE FROM inglenook.in_flight WHERE run = me OR written_at < clock_timestamp() - interval '1 minute';
  ELSE
    INSERT INTO inglenook.in_flight (run, figures, written_at) VALUES (me, running::text, clock_timestamp())
    ON CONFLICT (run) DO UPDATE SET figures = excluded.figures, written_at = excluded.written_at;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.put_claims(claimed text[], released text[], me text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM inglenook.probes WHERE run = me AND name = ANY(released);
  INSERT INTO inglenook.probes AS p (name, run, until)
  SELECT w, me, clock_timestamp() + ${CLAIM_MS} * interval '1 ms' FROM unnest(claimed) w
  ON CONFLICT (name) DO UPDATE SET
    run = CASE WHEN p.run = me OR p.until < clock_timestamp() THEN me ELSE p.run END,
    until = CASE WHEN p.run = me OR p.until < clock_timestamp() THEN excluded.until ELSE p.until END,
    wanted_until = CASE WHEN p.run = me THEN p.wanted_until WHEN p.until < clock_timestamp() THEN NULL
      ELSE clock_timestamp() + ${WANTED_MS} * interval '1 ms' END;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.tell_prefixes(prefixes jsonb, me text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE told text := jsonb_build_array(me, prefixes)::text;
BEGIN
  -- A longer notification is an error, which would keep back the circuits as well.
  IF jsonb_array_length(prefixes) > 0 AND octet_length(told) < 8000 THEN
    PERFORM pg_notify('${PREFIX_CHANNEL}', told);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION pg_temp.exchange(sent jsonb, claimed text[], released text[], me text) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  IF jsonb_array_length(sent->'circuits') + cardinality(claimed) + cardinality(released) > 0 THEN
    PERFORM pg_advisory_xact_lock(${LOCK});
    PERFORM pg_temp.put_circuits(sent->'circuits', me);
    PERFORM pg_temp.put_claims(claimed, released, me);
  END IF;
  PERFORM pg_temp.put_figures(sent->'inFlight', me);
  PERFORM pg_temp.tell_prefixes(sent->'prefixes', me);
  RETURN (SELECT jsonb_build_object(
    'circuits', (SELECT coalesce(jsonb_agg(jsonb_build_object('version', version, 'isOwn', run = me, 'state', state,
        'ageMs', floor(greatest(0, extract(epoch FROM clock_timestamp() - written_at)) * 1000))), '[]')
      FROM inglenook.circuits WHERE version > (sent->>'since')::bigint),
    'inFlight', (SELECT coalesce(jsonb_object_agg(id, n), '{}') FROM (
      SELECT f.key AS id, sum(f.value::int) AS n FROM inglenook.in_flight i, jsonb_each_text(i.figures::jsonb) f
      WHERE i.run <> me AND i.written_at > clock_timestamp() - ${FIGURES_MS} * interval '1 ms' GROUP BY f.key) figures),
    'claims', (SELECT coalesce(jsonb_agg(jsonb_build_object('name', name,
        'isWanted', coalesce(wanted_until > clock_timestamp(), false))), '[]')
      FROM inglenook.probes WHERE run = me AND name = ANY(claimed) AND until > clock_timestamp())));
END $$;`;

export async function prepareExchange(connection: Connection): Promise<void> {
  await connection.run(FUNCTIONS);
}

const duration = z.number().nonnegative();
const stateSchema = z.object({
  name: z.string(),
  cooldown: z
    .object({ leftMs: duration, openings: z.int().positive(), error: z.string().nullable() })
    .nullable(),
  skips: z.array(z.object({ reason: z.string(), model: z.string().optional(), leftMs: duration })),
  resets: z.int().nonnegative(),
});
const answerSchema = z.object({
  circuits: z.array(
    z.object({
      version: z.int().positive(),
      isOwn: z.boolean(),
      state: z.string(),
      ageMs: duration,
    }),
  ),
  inFlight: z.record(z.string(), z.int().positive()),
  claims: z.array(z.object({ name: z.string(), isWanted: z.boolean() })),
});

/** Sends this gateway's news to the others and receives theirs; `run` identifies this gateway. */
export async function exchange(
  connection: Connection,
  { claims, released, prefixes, ...update }: PoolUpdate,
  run: string,
): Promise<PoolAnswer> {
  const [row] = await connection.query<{ readonly answer: unknown }>(
    'SELECT pg_temp.exchange($1, $2, $3, $4) AS answer',
    [
      JSON.stringify({ ...update, prefixes: prefixes.map(shortOf) }, storableTexts),
      claims,
      released,
      run,
    ],
  );
  const answer = answerSchema.parse(row?.answer);
  return { ...answer, circuits: answer.circuits.flatMap(circuitOf) };
}

/** Model names come from callers and errors from upstreams, so they may hold anything. */
const storableTexts = (_key: string, value: unknown) =>
  typeof value === 'string' ? storable(value) : value;

/** None if a newer version has written what this one cannot read. */
function circuitOf({
  version,
  isOwn,
  state,
  ageMs,
}: z.infer<typeof answerSchema>['circuits'][number]): PoolAnswer['circuits'] {
  const { data } = stateSchema.safeParse(JSON.parse(state));
  if (data === undefined) return [];
  const left = (ms: number) => Math.max(0, ms - ageMs);
  const { cooldown, skips } = data;
  return [
    {
      ...data,
      cooldown: cooldown === null ? null : { ...cooldown, leftMs: left(cooldown.leftMs) },
      skips: skips.map((skip) => ({ ...skip, leftMs: left(skip.leftMs) })),
      version,
      isOwn,
    },
  ];
}

/** As it travels: a name of 40 letters and four numbers of 16 digits, so that `MAX_PREFIXES` of them fit. */
const shortOf = ({ machine, session, keys }: SharedPrefix) => [machine, session, ...keys];

const prefixSchema = z
  .tuple([z.string(), z.int().nullable()], z.int())
  .transform(([machine, session, ...keys]): SharedPrefix => ({ machine, session, keys }));
const toldSchema = z.tuple([z.string(), z.array(prefixSchema).max(MAX_PREFIXES)]);

/** What another gateway tells; none of its own, nor what a newer version has changed. */
export function prefixesIn(payload: string, ownRun: string): readonly SharedPrefix[] {
  const { data } = toldSchema.safeParse(parseJson(payload));
  return data === undefined || data[0] === ownRun ? [] : data[1];
}
