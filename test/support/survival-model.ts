import { OUTRUN } from '#shared/reasons.ts';
import { brokenOff } from './broken-off.ts';
import { heard } from './resume.ts';
import type { History } from './survival-parts.ts';
import type { Said } from './survival-player.ts';
import type { Survived } from './survival-world.ts';

/*
 * What a caller must receive, computed from the upstreams called and their answers: which upstreams are called
 * is the router's decision and taken as given. The real gateway is compared with it.
 */

/** What a streaming caller must have received. */
interface Received {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: number;
  /** One finish reason and `[DONE]`; else an error event at the end. */
  readonly isWhole: boolean;
}

const NOTHING: Received = { content: '', reasoning: '', toolCalls: 0, isWhole: false };

function withGiver(before: Received, said: Said, index: number): Received {
  // It may have taken the rest of the text for a thought.
  const onlyThought = said.isFinished && said.reasoning !== '' && !said.hasSpoken;
  if (said.asked !== null && onlyThought && !said.hasCalledTool) return before;
  const content = said.asked === null ? said.content : joined(before.content, said.asked, said);
  const after = {
    content,
    reasoning: index === 0 ? said.reasoning : before.reasoning,
    toolCalls: said.hasCalledTool ? 1 : 0,
    isWhole: said.isFinished && !said.hasFailed,
  };
  if (index === 0 || said.asked !== null) return after;
  return saysMore(said, before) ? after : before;
}

/** The text after `asked`, appended to what the caller has; the blanks between the two are there once. */
function joined(had: string, asked: string, { content }: Said): string {
  const seam = had.slice(asked.length);
  const own = content.slice(asked.length);
  let said = 0;
  while (said < seam.length && own[said] === seam[said]) said += 1;
  return had + own.slice(said);
}

/** Whether a repeated answer begins with the one that the caller has. */
function saysMore(said: Said, before: Received): boolean {
  const { content, reasoning } = said;
  if (reasoning !== '' && before.reasoning === '') return false;
  const endsInCall = said.hasCalledTool && content === before.content;
  if (before.toolCalls > 0 && !endsInCall) return false;
  const isOver = said.isFinished || said.hasCalledTool;
  const isPast = content.length > before.content.length;
  // Other reasoning shows where there is something new to say, or nothing any more.
  if (reasoning !== before.reasoning && (isPast || isOver)) return false;
  return content.startsWith(before.content);
}

/** The upstreams whose content was sent to the caller, in order. */
function giversOf({ row, said }: Survived): Said[] {
  return row.attempts
    .filter(({ firstContentMs, reason }) => firstContentMs !== null && reason !== OUTRUN)
    .map(({ upstream, provider }) =>
      said.findLast((each) => each.upstream === (provider ?? upstream)),
    )
    .filter((each) => each !== undefined);
}

/** What the caller has received, and the parts to compare with the model. */
export function seenBy({ stream, resume, deterministic }: History, survived: Survived) {
  const { answer, row, said } = survived;
  if (answer === null) return 'left';
  const { status, text } = answer;
  if (status !== 200) return { state: row.state, hasError: text.includes('"error"') };
  if (!stream) {
    const { choices } = JSON.parse(text) as { choices: { message: { content: string } }[] };
    return { isSaid: said.some(({ content }) => content === choices[0]?.message.content) };
  }
  const isWhole = text.endsWith('data: [DONE]\n\n');
  const { content, reasoning, roles, finishes, dones, ids, indexes } = heard(
    isWhole ? text : brokenOff(text).before,
  );
  const givers = giversOf(survived);
  const models = new Set(givers.map(({ call }) => call.json['model']));
  return {
    content,
    reasoning,
    toolCalls: text.match(/"tool_calls":\[\{/g)?.length ?? 0,
    isWhole,
    dones,
    ids,
    indexes,
    handovers: text.match(/^: carried on by /gm)?.length ?? 0,
    hasOneRole: roles <= 1,
    hasOneFinish: finishes.length === 1 || (!isWhole && finishes.length === 0),
    // Each was asked for what was missing of the text that the caller then had.
    asked: givers.map(({ asked }) => asked),
    mayBeAsked:
      (resume !== 'off' || givers.length === 1) &&
      (resume !== 'same-model' || models.size === 1) &&
      (deterministic || givers.slice(1).every(({ asked }) => asked !== null)),
  };
}

/** What it should be. */
export function dueTo({ stream }: History, survived: Survived): ReturnType<typeof seenBy> {
  const { answer } = survived;
  if (answer === null) return 'left';
  if (answer.status !== 200) return { state: 'failed', hasError: true };
  if (!stream) return { isSaid: true };
  const givers = giversOf(survived);
  const had = givers.map((_, index) => givers.slice(0, index).reduce(withGiver, NOTHING));
  const { isWhole, ...received } = givers.reduce(withGiver, NOTHING);
  return {
    ...received,
    isWhole,
    dones: isWhole ? 1 : 0,
    ids: new Set([givers[0]?.upstream]),
    indexes: new Set([0]),
    handovers: givers.length - 1,
    hasOneRole: true,
    hasOneFinish: true,
    asked: givers.map(({ asked }, index) =>
      asked === null ? null : (had[index]?.content ?? '').trimEnd(),
    ),
    mayBeAsked: true,
  };
}
